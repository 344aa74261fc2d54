// Any bytes as a .safetensors file: every tensor it lists can be read and loaded, or is refused with an Error.
#include "attend/checkpoint/safetensors.h"

#include "attend/backends.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

const Target kTarget = {
    .file = "input.safetensors",
    .schema =
        R"({"dtype": ["F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL", "F8"],
                  "shape": [[], [0], [1], [2, 3], [3, 1], [1, 3], [1, 2, 3], [4611686018427387904, 4], [0, 9223372036854775807]],
                  "data_offsets": [[0, 0], [8, 4], [0, 1, 2], [0, 18446744073709551615], [0, -1]],
                  "__metadata__": [{}, {"format": "pt"}, {"n": 1}, []],
                  "@tensors": ["a", "b", "a.scale", "b.scale", ""]})"};

void enter(const Input& input) {
  static const std::unique_ptr<Backend> backend = open_backend("cpu", {.threads = 1});
  const std::string& bytes = input.first().bytes;
  const auto file = checkpoint::Safetensors::view(std::as_bytes(std::span(bytes)), "input");
  std::size_t all = 0;
  for (const checkpoint::StoredTensor& tensor : file.tensors()) {
    must(file.find(tensor.name) == &tensor, "a tensor is found by its name");
    all += tensor.bytes.size();
    attempt([&] { file.floats(tensor.name); });
    attempt([&] { file.ints(tensor.name); });
    if (tensor.shape.size() > (1 << 20)) continue;
    for (DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i8, DType::u8})
      attempt([&] { file.load(tensor.name, make_tensor(*backend, tensor.shape, dtype)); });
    attempt([&] { file.load(tensor.name, make_tensor(*backend, {7}, DType::f32)); });
  }
  must(all <= bytes.size(), "tensors lie in the file, and beside one another");
  attempt([&] { file.load("no such tensor", {}); });
  if (!file.tensors().empty()) attempt([&] { file.load(file.tensors()[0].name, {}); });
  // From a file the same, which may be let go of.
  const auto mapped = checkpoint::Safetensors::open(write("input.safetensors", bytes).string());
  must(mapped.tensors().size() == file.tensors().size() && mapped.metadata() == file.metadata(), "a file is its bytes");
  for (const checkpoint::StoredTensor& tensor : mapped.tensors()) mapped.forget(tensor.name);
}

}  // namespace attend::fuzz
