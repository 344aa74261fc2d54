// f32 or bf16 to int8, symmetric, one scale per row: q = round(x / scale), scale = max|x| / 127. Written once with GCC
// vectors; each instruction set inlines it at its own width.
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

// Writes q + offset (the low byte) for k values, and offset itself up to padded. Returns the scale.
template <int Width, class E>
[[gnu::always_inline]] inline float quantise_elements(const E* from, std::int64_t k, std::int64_t padded, int offset,
                                                      std::byte* to) {
  using F = typename Lanes<Width>::Float;
  using I = typename Lanes<Width>::Int;
  using Bytes = typename Lanes<Width>::Bytes;
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
  const float inverse = largest > 0 ? 127.0f / largest : 0.0f;
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
  std::memset(to + k, offset & 0xff, static_cast<std::size_t>(padded - k));
  return largest / 127.0f;
}

template <int Width>
[[gnu::always_inline]] inline float quantise_row(const FloatRow& from, std::int64_t k, std::int64_t padded, int offset,
                                                 std::byte* to) {
  if (from.dtype == DType::f32)
    return quantise_elements<Width>(reinterpret_cast<const float*>(from.data), k, padded, offset, to);
  return quantise_elements<Width>(reinterpret_cast<const Bf16*>(from.data), k, padded, offset, to);
}

}  // namespace attend::cpu::detail

#pragma GCC diagnostic pop
