// arm64: tiles of 8 x 12, and how their sums leave the registers.
#pragma once

#if defined(__aarch64__)

#include <arm_neon.h>

#include "attend/cpu/gemm/kernel.h"

// Before an instruction of these in assembly: so no function needs a target of its own, which would keep it from being
// inlined.
#define ATTEND_MATRIX_ARCH ".arch armv8.2-a+bf16+i8mm\n"
#define ATTEND_DOT_ARCH ".arch armv8.2-a+dotprod\n"
#define ATTEND_NEON_INLINE __attribute__((always_inline)) inline

namespace attend::cpu::detail {

constexpr int kRows = 8, kColumns = 12;
// Panels that one or two rows are multiplied by at once, and more rows: no more streams than are read together. A
// panel that waits for its turn is a stream that starts anew (72 to 84 % of the bandwidth with four rows; 82 to 96 so).
constexpr int kStreams = 4, kStreamsOfMany = 2;
constexpr std::int64_t kFetch = 1024;  // bytes ahead that each is fetched

ATTEND_NEON_INLINE float32x4_t plus(float32x4_t a, float32x4_t b) { return vaddq_f32(a, b); }
ATTEND_NEON_INLINE int32x4_t plus(int32x4_t a, int32x4_t b) { return vaddq_s32(a, b); }
ATTEND_NEON_INLINE float32x4_t load_four(const float* from) { return vld1q_f32(from); }
ATTEND_NEON_INLINE int32x4_t load_four(const std::int32_t* from) { return vld1q_s32(from); }
ATTEND_NEON_INLINE void store_four(float* to, float32x4_t v) { vst1q_f32(to, v); }
ATTEND_NEON_INLINE void store_four(std::int32_t* to, int32x4_t v) { vst1q_s32(to, v); }

// Stays where it is written: between multiplications. Right beside the loads of a step it makes them wait (64 against
// 70 GFLOP/s in f32 on a Neoverse-V1).
ATTEND_NEON_INLINE void fetch(const std::byte* from, std::int64_t ahead) {
  asm volatile("prfm pldl1keep, [%0, %1]" : : "r"(from), "Ir"(ahead));
}

// Four numbers of a tile.
template <bool kAdd, class T, class V>
ATTEND_NEON_INLINE void put_four(T* to, V v) {
  store_four(to, kAdd ? plus(v, load_four(to)) : v);
}

// Two blocks of 2 x 2 beside each other: the upper and the lower row of four.
ATTEND_NEON_INLINE void turn_blocks(float32x4_t& a, float32x4_t& b) {
  const float64x2_t x = vreinterpretq_f64_f32(a), y = vreinterpretq_f64_f32(b);
  a = vreinterpretq_f32_f64(vzip1q_f64(x, y)), b = vreinterpretq_f32_f64(vzip2q_f64(x, y));
}
ATTEND_NEON_INLINE void turn_blocks(int32x4_t& a, int32x4_t& b) {
  const int64x2_t x = vreinterpretq_s64_s32(a), y = vreinterpretq_s64_s32(b);
  a = vreinterpretq_s32_s64(vzip1q_s64(x, y)), b = vreinterpretq_s32_s64(vzip2q_s64(x, y));
}

// Sums of 2 x 2 blocks, [row pairs][6], to tile rows; of an odd number of rows one more is written.
template <bool kAdd, class T, class Sum, int Pairs>
ATTEND_NEON_INLINE void put_blocks(const Sum (&sums)[Pairs][6], T* tile, std::int64_t stride, int rows) {
#pragma GCC unroll 4
  for (int pair = 0; pair < Pairs; ++pair, tile += 2 * stride) {
    if (2 * pair >= rows) break;
#pragma GCC unroll 3
    for (int v = 0; v < 3; ++v) {
      Sum left = sums[pair][2 * v], right = sums[pair][2 * v + 1];
      turn_blocks(left, right);
      put_four<kAdd>(tile + 4 * v, left);
      put_four<kAdd>(tile + stride + 4 * v, right);
    }
  }
}

}  // namespace attend::cpu::detail

#endif
