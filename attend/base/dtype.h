// The number formats a tensor can hold, and bf16 as a plain 16-bit struct that any compiler takes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace attend {

enum class DType : std::uint8_t { f32, bf16, i32, i8, u8 };

constexpr std::size_t bytes_of(DType dtype) {
  return dtype == DType::f32 || dtype == DType::i32 ? 4 : dtype == DType::bf16 ? 2 : 1;
}

constexpr const char* name_of(DType dtype) {
  constexpr const char* kNames[] = {"f32", "bf16", "i32", "i8", "u8"};
  return kNames[static_cast<int>(dtype)];
}

constexpr bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::bf16; }

// The upper half of an IEEE float. Rounds to nearest even; NaN stays NaN.
struct Bf16 {
  std::uint16_t bits = 0;

  Bf16() = default;
  constexpr explicit Bf16(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const bool nan = (word & 0x7fffffffu) > 0x7f800000u;
    bits = nan ? static_cast<std::uint16_t>((word >> 16) | 0x40u)
               : static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
  constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

// The DType of a C++ element type: dtype_of<float> is DType::f32.
template <class T>
inline constexpr DType dtype_of = DType::f32;
template <>
inline constexpr DType dtype_of<Bf16> = DType::bf16;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<std::int8_t> = DType::i8;
template <>
inline constexpr DType dtype_of<std::uint8_t> = DType::u8;

}  // namespace attend
