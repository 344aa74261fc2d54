// f32 or bf16 to int8 in two steps (Kernel::quantise): the largest value, and rounding. Written once with GCC vectors;
// each instruction set inlines them at its own width.
#pragma once

#include <cstring>

#include "attend/cpu/gemm/kernel.h"
#include "attend/cpu/lanes.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace attend::cpu::detail {

template <int Width>
[[gnu::always_inline]] inline typename Lanes<Width>::Float load_part(const float* from, std::int64_t count) {
  if (count >= Width) return *reinterpret_cast<const typename Lanes<Width>::Loose*>(from);
  typename Lanes<Width>::Float v{};
  std::memcpy(&v, from, static_cast<std::size_t>(count) * 4);
  return v;
}

template <int Width>
[[gnu::always_inline]] inline typename Lanes<Width>::Float load_part(const Bf16* from, std::int64_t count) {
  typename Lanes<Width>::Half half{};
  if (count >= Width)
    std::memcpy(&half, from, sizeof half);
  else
    std::memcpy(&half, from, static_cast<std::size_t>(count) * 2);
  return (typename Lanes<Width>::Float)(__builtin_convertvector(half, typename Lanes<Width>::Word) << 16);
}

template <int Width, class E>
[[gnu::always_inline]] inline float largest_element(const E* from, std::int64_t k) {
  using F = typename Lanes<Width>::Float;
  // Four maxima: one would wait for itself.
  F most[4] = {};
  std::int64_t at = 0;
  for (; at + 4 * Width <= k; at += 4 * Width)
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part) {
      const F x = load_part<Width>(from + at + part * Width, Width);
      const F size = x < 0.0f ? -x : x;
      most[part] = size > most[part] ? size : most[part];
    }
  for (; at < k; at += Width) {
    const F x = load_part<Width>(from + at, k - at);
    const F size = x < 0.0f ? -x : x;
    most[0] = size > most[0] ? size : most[0];
  }
  // Vectors against each other, then lanes, in four chains again.
  for (int part = 1; part < 4; ++part) most[0] = most[part] > most[0] ? most[part] : most[0];
  float lanes[4] = {};
  for (int i = 0; i < Width; ++i) lanes[i % 4] = most[0][i] > lanes[i % 4] ? most[0][i] : lanes[i % 4];
  float largest = 0;
  for (const float lane : lanes) largest = lane > largest ? lane : largest;
  return largest;
}

template <int Width, class E>
[[gnu::always_inline]] inline void round_elements(const E* from, std::int64_t k, float inverse, int offset,
                                                  std::byte* to) {
  using F = typename Lanes<Width>::Float;
  using I = typename Lanes<Width>::Int;
  using Bytes = typename Lanes<Width>::Bytes;
  for (std::int64_t done = 0; done < k; done += Width) {
    // 1.5 * 2^23: the low bits of the sum are the nearest integer.
    const F shifted = load_part<Width>(from + done, k - done) * inverse + 12582912.0f;
    const Bytes bytes = __builtin_convertvector((I)shifted - 0x4b400000 + offset, Bytes);
    if (k - done < Width) {
      std::memcpy(to + done, &bytes, static_cast<std::size_t>(k - done));
      break;
    }
    std::memcpy(to + done, &bytes, sizeof bytes);
  }
}

template <int Width>
[[gnu::always_inline]] inline float largest_of_row(const FloatRow& from, std::int64_t k) {
  if (from.dtype == DType::f32) return largest_element<Width>(reinterpret_cast<const float*>(from.data), k);
  return largest_element<Width>(reinterpret_cast<const Bf16*>(from.data), k);
}

template <int Width>
[[gnu::always_inline]] inline void round_row(const FloatRow& from, std::int64_t k, float inverse, int offset,
                                             std::byte* to) {
  if (from.dtype == DType::f32)
    return round_elements<Width>(reinterpret_cast<const float*>(from.data), k, inverse, offset, to);
  round_elements<Width>(reinterpret_cast<const Bf16*>(from.data), k, inverse, offset, to);
}

}  // namespace attend::cpu::detail

#pragma GCC diagnostic pop
