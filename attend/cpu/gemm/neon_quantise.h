// arm64: f32 or bf16 to int8, symmetric, one scale per row, as quantise.h says; sixteen numbers at a time.
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

template <class E>
float quantise_elements(const E* from, std::int64_t k, std::int64_t padded, std::byte* to) {
  const std::int64_t whole = k / 16 * 16;
  E some[16] = {};
  std::memcpy(static_cast<void*>(some), from + whole, static_cast<std::size_t>(k - whole) * sizeof(E));
  const Sixteen rest = load_sixteen(some);
  Sixteen most{};
  keep_largest(most, rest);
  for (std::int64_t at = 0; at < whole; at += 16) keep_largest(most, load_sixteen(from + at));
  const float largest =
      vmaxnmvq_f32(vmaxnmq_f32(vmaxnmq_f32(most.of[0], most.of[1]), vmaxnmq_f32(most.of[2], most.of[3])));
  const float inverse = largest > 0 ? 127.0f / largest : 0.0f;
  std::int8_t* bytes = reinterpret_cast<std::int8_t*>(to);
  for (std::int64_t at = 0; at < whole; at += 16) vst1q_s8(bytes + at, rounded(load_sixteen(from + at), inverse));
  const int8x16_t last = rounded(rest, inverse);
  std::memcpy(bytes + whole, &last, static_cast<std::size_t>(k - whole));
  std::memset(bytes + k, 0, static_cast<std::size_t>(padded - k));
  return largest / 127.0f;
}

// The instruction multiplies signed by signed: offset is 0.
inline float quantise_neon(const FloatRow& from, std::int64_t k, std::int64_t padded, int /*offset*/, std::byte* to) {
  return from.dtype == DType::f32 ? quantise_elements(reinterpret_cast<const float*>(from.data), k, padded, to)
                                  : quantise_elements(reinterpret_cast<const Bf16*>(from.data), k, padded, to);
}

}  // namespace attend::cpu::detail

#endif
