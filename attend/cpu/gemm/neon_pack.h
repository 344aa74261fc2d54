// arm64: packing into bf16, [k / 4][planes][width][4], from f32 or bf16, with k contiguous or not; one plane (rounded)
// or two (hi = rounded, lo = rounded rest). Work goes in blocks of four rows by four k.
#pragma once

#if defined(__aarch64__)

#include <algorithm>
#include <cstring>

#include "attend/cpu/gemm/neon_tile.h"

namespace attend::cpu::detail {

// Four k of four rows.
struct FourRows {
  float32x4_t row[4];
};

ATTEND_NEON_INLINE FourRows turned(const FourRows& f) {
  const float32x4x2_t a = vzipq_f32(f.row[0], f.row[2]), b = vzipq_f32(f.row[1], f.row[3]);
  const float32x4x2_t low = vzipq_f32(a.val[0], b.val[0]), high = vzipq_f32(a.val[1], b.val[1]);
  return {{low.val[0], low.val[1], high.val[0], high.val[1]}};
}

ATTEND_NEON_INLINE float32x4_t load_wide(const float* from) { return vld1q_f32(from); }
ATTEND_NEON_INLINE float32x4_t load_wide(const Bf16* from) {
  return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(reinterpret_cast<const std::uint16_t*>(from)), 16));
}

template <class E>
ATTEND_NEON_INLINE FourRows load_rows(const E* from, std::int64_t row_step, std::int64_t k_step) {
  const std::int64_t step = k_step == 1 ? row_step : k_step;
  const FourRows lines{
      {load_wide(from), load_wide(from + step), load_wide(from + 2 * step), load_wide(from + 3 * step)}};
  return k_step == 1 ? lines : turned(lines);
}

// At an edge: the rest is zero.
template <class E>
FourRows load_some(const E* from, std::int64_t row_step, std::int64_t k_step, std::int64_t rows, std::int64_t k) {
  float some[4][4] = {};
  for (std::int64_t r = 0; r < std::min<std::int64_t>(4, rows); ++r)
    for (std::int64_t i = 0; i < std::min<std::int64_t>(4, k); ++i)
      some[r][i] = static_cast<float>(from[r * row_step + i * k_step]);
  return {{vld1q_f32(some[0]), vld1q_f32(some[1]), vld1q_f32(some[2]), vld1q_f32(some[3])}};
}

// Two rows of four to bf16; their rest stays in a and b.
ATTEND_NEON_INLINE uint16x8_t round_pair(float32x4_t& a, float32x4_t& b) {
  uint16x8_t bits;
  asm(ATTEND_MATRIX_ARCH "bfcvtn %0.4h, %1.4s\n bfcvtn2 %0.8h, %2.4s" : "=&w"(bits) : "w"(a), "w"(b));
  a = vsubq_f32(a, vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(bits), 16)));
  b = vsubq_f32(b, vreinterpretq_f32_u32(vshll_high_n_u16(bits, 16)));
  return bits;
}

template <int kPlanes, class E>
void pack_fours(const Operand& from, int rows, int width, std::int64_t k, std::byte* to) {
  const E* data = reinterpret_cast<const E*>(from.data);
  const std::int64_t plane = 8 * width;
  for (std::int64_t kk = 0; kk < k; kk += 4, to += kPlanes * plane)
    for (int r = 0; r < width; r += 4) {
      const E* block = data + r * from.row_step + kk * from.k_step;
      FourRows f = rows - r >= 4 && k - kk >= 4 ? load_rows(block, from.row_step, from.k_step)
                                                : load_some(block, from.row_step, from.k_step, rows - r, k - kk);
#pragma GCC unroll 2
      for (int pair = 0; pair < 2; ++pair) {
        if (r + 2 * pair >= width) break;
        std::byte* at = to + 8 * (r + 2 * pair);
        vst1q_u16(reinterpret_cast<std::uint16_t*>(at), round_pair(f.row[2 * pair], f.row[2 * pair + 1]));
        if constexpr (kPlanes == 2)
          vst1q_u16(reinterpret_cast<std::uint16_t*>(at + plane), round_pair(f.row[2 * pair], f.row[2 * pair + 1]));
      }
    }
}

template <int kPlanes>
void pack_bf16(const Operand& from, int rows, int width, std::int64_t k, std::byte* to) {
  from.dtype == DType::f32 ? pack_fours<kPlanes, float>(from, rows, width, k, to)
                           : pack_fours<kPlanes, Bf16>(from, rows, width, k, to);
}

}  // namespace attend::cpu::detail

#endif
