// The number formats a safetensors file can hold: more than a Tensor can (attend/base/dtype.h).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "attend/base/dtype.h"

namespace attend::checkpoint {

enum class StoredType : std::uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

struct StoredTypeInfo {
  StoredType type;
  std::string_view name;  // as the file spells it
  std::size_t bytes;
};

inline constexpr StoredTypeInfo kStoredTypes[] = {
    {StoredType::f64, "F64", 8},      {StoredType::f32, "F32", 4}, {StoredType::f16, "F16", 2},
    {StoredType::bf16, "BF16", 2},    {StoredType::i64, "I64", 8}, {StoredType::i32, "I32", 4},
    {StoredType::i16, "I16", 2},      {StoredType::i8, "I8", 1},   {StoredType::u64, "U64", 8},
    {StoredType::u32, "U32", 4},      {StoredType::u16, "U16", 2}, {StoredType::u8, "U8", 1},
    {StoredType::boolean, "BOOL", 1},
};

constexpr std::size_t bytes_of(StoredType type) { return kStoredTypes[static_cast<int>(type)].bytes; }
constexpr std::string_view name_of(StoredType type) { return kStoredTypes[static_cast<int>(type)].name; }
constexpr bool is_float(StoredType type) { return type <= StoredType::bf16; }

constexpr std::optional<StoredType> stored_type_named(std::string_view name) {
  for (const StoredTypeInfo& info : kStoredTypes)
    if (info.name == name) return info.type;
  return std::nullopt;
}

constexpr StoredType stored_type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return StoredType::f32;
    case DType::bf16:
      return StoredType::bf16;
    case DType::i32:
      return StoredType::i32;
    case DType::i8:
      return StoredType::i8;
    case DType::u8:
      return StoredType::u8;
  }
  return StoredType::f32;
}

// The float format of the same bytes; none for what has to be converted.
constexpr std::optional<DType> float_dtype_of(StoredType type) {
  if (type == StoredType::f32) return DType::f32;
  return type == StoredType::bf16 ? std::optional(DType::bf16) : std::nullopt;
}

// IEEE half precision (1 sign, 5 exponent, 10 mantissa bits); every half is exact as a float.
struct Half {
  std::uint16_t bits = 0;

  constexpr operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fu, mantissa = bits & 0x3ffu;
    if (exponent == 0) {  // zero and subnormals: mantissa · 2^-24
      const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
      return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
    }
    const std::uint32_t wide = exponent == 31 ? 255 : exponent + (127 - 15);  // 31: infinity and NaN
    return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
  }
};

}  // namespace attend::checkpoint
