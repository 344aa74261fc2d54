// arm64: f32 or bf16 to int8, as quantise.h does it; sixteen numbers at a time.
#pragma once

#if defined(__aarch64__)

#include <cstring>

#include "attend/cpu/gemm/neon_pack.h"

namespace attend::cpu::detail {

struct Sixteen {
  float32x4_t of[4];
};

template <class E>
ATTEND_NEON_INLINE Sixteen load_sixteen(const E* from) {
  return {{load_wide(from), load_wide(from + 4), load_wide(from + 8), load_wide(from + 12)}};
}

ATTEND_NEON_INLINE void keep_largest(Sixteen& most, const Sixteen& x) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) most.of[i] = vmaxnmq_f32(most.of[i], vabsq_f32(x.of[i]));
}

ATTEND_NEON_INLINE int8x16_t rounded(const Sixteen& x, float inverse) {
  int16x4_t half[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) half[i] = vmovn_s32(vcvtnq_s32_f32(vmulq_n_f32(x.of[i], inverse)));
  return vcombine_s8(vmovn_s16(vcombine_s16(half[0], half[1])), vmovn_s16(vcombine_s16(half[2], half[3])));
}

// The last k % 16, and zeros.
template <class E>
ATTEND_NEON_INLINE Sixteen load_rest(const E* from, std::int64_t k) {
  const std::int64_t whole = k / 16 * 16;
  E some[16] = {};
  std::memcpy(static_cast<void*>(some), from + whole, static_cast<std::size_t>(k - whole) * sizeof(E));
  return load_sixteen(some);
}

template <class E>
float largest_element(const E* from, std::int64_t k) {
  Sixteen most{};
  keep_largest(most, load_rest(from, k));
  for (std::int64_t at = 0; at + 16 <= k; at += 16) keep_largest(most, load_sixteen(from + at));
  return vmaxnmvq_f32(vmaxnmq_f32(vmaxnmq_f32(most.of[0], most.of[1]), vmaxnmq_f32(most.of[2], most.of[3])));
}

template <class E>
void round_elements(const E* from, std::int64_t k, float inverse, std::int8_t* to) {
  std::int64_t at = 0;
  for (; at + 16 <= k; at += 16) vst1q_s8(to + at, rounded(load_sixteen(from + at), inverse));
  const int8x16_t last = rounded(load_rest(from, k), inverse);
  std::memcpy(to + at, &last, static_cast<std::size_t>(k - at));
}

inline float largest_neon(const FloatRow& from, std::int64_t k) {
  return from.dtype == DType::f32 ? largest_element(reinterpret_cast<const float*>(from.data), k)
                                  : largest_element(reinterpret_cast<const Bf16*>(from.data), k);
}

// The instruction multiplies signed by signed: offset is 0.
inline void round_neon(const FloatRow& from, std::int64_t k, float inverse, int /*offset*/, std::byte* to) {
  auto* bytes = reinterpret_cast<std::int8_t*>(to);
  from.dtype == DType::f32 ? round_elements(reinterpret_cast<const float*>(from.data), k, inverse, bytes)
                           : round_elements(reinterpret_cast<const Bf16*>(from.data), k, inverse, bytes);
}

}  // namespace attend::cpu::detail

#endif
