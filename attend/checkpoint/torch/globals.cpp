#include "attend/checkpoint/torch/globals.h"

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend::checkpoint::torch {

namespace {

constexpr Global kGlobals[] = {
    {"collections", "OrderedDict", Global::Kind::ordered_dict},
    {"torch._utils", "_rebuild_tensor_v2", Global::Kind::rebuild_tensor},
    {"torch._utils", "_rebuild_tensor_v3", Global::Kind::rebuild_typed_tensor},
    {"torch._utils", "_rebuild_parameter", Global::Kind::rebuild_parameter},
    {"torch", "DoubleStorage", Global::Kind::storage, StoredType::f64},
    {"torch", "FloatStorage", Global::Kind::storage, StoredType::f32},
    {"torch", "HalfStorage", Global::Kind::storage, StoredType::f16},
    {"torch", "BFloat16Storage", Global::Kind::storage, StoredType::bf16},
    {"torch", "LongStorage", Global::Kind::storage, StoredType::i64},
    {"torch", "IntStorage", Global::Kind::storage, StoredType::i32},
    {"torch", "ShortStorage", Global::Kind::storage, StoredType::i16},
    {"torch", "CharStorage", Global::Kind::storage, StoredType::i8},
    {"torch", "ByteStorage", Global::Kind::storage, StoredType::u8},
    {"torch", "BoolStorage", Global::Kind::storage, StoredType::boolean},
    {"torch.storage", "UntypedStorage", Global::Kind::storage},
    {"torch", "UntypedStorage", Global::Kind::storage},
    {"torch", "float64", Global::Kind::dtype, StoredType::f64},
    {"torch", "float32", Global::Kind::dtype, StoredType::f32},
    {"torch", "float16", Global::Kind::dtype, StoredType::f16},
    {"torch", "bfloat16", Global::Kind::dtype, StoredType::bf16},
    {"torch", "int64", Global::Kind::dtype, StoredType::i64},
    {"torch", "int32", Global::Kind::dtype, StoredType::i32},
    {"torch", "int16", Global::Kind::dtype, StoredType::i16},
    {"torch", "int8", Global::Kind::dtype, StoredType::i8},
    {"torch", "uint64", Global::Kind::dtype, StoredType::u64},
    {"torch", "uint32", Global::Kind::dtype, StoredType::u32},
    {"torch", "uint16", Global::Kind::dtype, StoredType::u16},
    {"torch", "uint8", Global::Kind::dtype, StoredType::u8},
    {"torch", "bool", Global::Kind::dtype, StoredType::boolean},
};

}  // namespace

const Global& find_global(std::string_view module, std::string_view name, const std::string& source) {
  for (const Global& global : kGlobals)
    if (global.module == module && global.name == name) return global;
  fail("{}: refused: it mentions {}, which is not on the short list of what weights are made of (docs/limits.md)",
       source, shown(std::string(module) + "." + std::string(name)));
}

}  // namespace attend::checkpoint::torch
