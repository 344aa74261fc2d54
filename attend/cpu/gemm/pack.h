// Packing in plain C++, for any element and any unit of k: the reference for the vector versions, and what the
// smaller instruction sets use.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "attend/cpu/gemm/kernel.h"

namespace attend::cpu::detail {

template <class T>
T element_at(const Operand& from, std::int64_t row, std::int64_t k) {
  const std::int64_t i = row * from.row_step + k * from.k_step;
  if (from.dtype == DType::bf16) {
    Bf16 value;
    std::memcpy(&value, from.data + 2 * i, 2);
    if constexpr (std::is_same_v<T, Bf16>) return value;
    return static_cast<T>(static_cast<float>(value));
  }
  float value;
  std::memcpy(&value, from.data + 4 * i, 4);
  return static_cast<T>(value);
}

// [k / Unit][width][Unit] of T, k rounded up to k_step; rounds f32 to bf16, widens bf16 to f32.
template <class T, int Unit>
void pack_words(const Operand& from, int rows, int width, std::int64_t k, int k_step, std::byte* to) {
  T* out = reinterpret_cast<T*>(to);
  const std::int64_t padded = (k + k_step - 1) / k_step * k_step;
  for (std::int64_t kk = 0; kk < padded; kk += Unit)
    for (int r = 0; r < width; ++r)
      for (int u = 0; u < Unit; ++u) *out++ = r < rows && kk + u < k ? element_at<T>(from, r, kk + u) : T(0.0f);
}

// The same from bytes to bytes, for quantised operands.
template <int Unit>
void pack_int8(const Operand& from, int rows, int width, std::int64_t k, int k_step, std::byte* to) {
  const std::int64_t padded = (k + k_step - 1) / k_step * k_step;
  for (std::int64_t kk = 0; kk < padded; kk += Unit)
    for (int r = 0; r < width; ++r)
      for (int u = 0; u < Unit; ++u)
        *to++ = r < rows && kk + u < k ? from.data[r * from.row_step + (kk + u) * from.k_step] : std::byte{0};
}

}  // namespace attend::cpu::detail
