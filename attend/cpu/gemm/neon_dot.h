// arm64: products of few rows with B read where it lies (DotProduct), f32 (FMLA) and bf16 (BFDOT). Columns are read
// in streams a part of the range apart: that is what memory reads fastest (70 against 31 to 43 GB/s for adjacent rows
// on two Neoverse-V1 cores).
#pragma once

#if defined(__aarch64__)

#include "attend/cpu/gemm/neon_tile.h"

namespace attend::cpu::detail {

// What one instruction multiplies: a vector of neighbouring k of a row and of a column, into four partial sums.
struct F32Dot {
  using Vector = float32x4_t;
  static constexpr int kBytes = 4;
  ATTEND_NEON_INLINE static Vector load(const std::byte* from) {
    return vld1q_f32(reinterpret_cast<const float*>(from));
  }
  ATTEND_NEON_INLINE static float32x4_t step(float32x4_t sum, Vector a, Vector b) { return vfmaq_f32(sum, a, b); }
  static float one(const std::byte* a, const std::byte* b) {
    return *reinterpret_cast<const float*>(a) * *reinterpret_cast<const float*>(b);
  }
};

struct Bf16Dot {
  using Vector = uint16x8_t;
  static constexpr int kBytes = 2;
  ATTEND_NEON_INLINE static Vector load(const std::byte* from) {
    return vld1q_u16(reinterpret_cast<const std::uint16_t*>(from));
  }
  ATTEND_NEON_INLINE static float32x4_t step(float32x4_t sum, Vector a, Vector b) {
    asm(ATTEND_MATRIX_ARCH "bfdot %0.4s, %1.8h, %2.8h" : "+w"(sum) : "w"(a), "w"(b));
    return sum;
  }
  static float one(const std::byte* a, const std::byte* b) {
    return static_cast<float>(*reinterpret_cast<const Bf16*>(a)) *
           static_cast<float>(*reinterpret_cast<const Bf16*>(b));
  }
};

constexpr int kDotRows = 8;  // at once; more are faster packed

// Rows by Columns columns `apart` bytes apart, whose results lie tile_apart apart. Sets of sums take turns where one
// would wait for itself.
template <class Step, int Rows, int Columns, int Sets>
void dot_block(const DotProduct& d, const std::byte* b, std::int64_t apart, float* tile, std::int64_t tile_apart) {
  static_assert(4 % Sets == 0);
  constexpr std::int64_t kVector = 16, kLine = 64;
  float32x4_t acc[Sets][Rows][Columns];
#pragma GCC unroll 4
  for (int s = 0; s < Sets; ++s)
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c) acc[s][r][c] = vdupq_n_f32(0);
  const auto step = [&](int s, const std::byte* x, const std::byte* w) __attribute__((always_inline)) {
    typename Step::Vector column[Columns];
#pragma GCC unroll 4
    for (int c = 0; c < Columns; ++c) column[c] = Step::load(w + c * apart);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const auto row = Step::load(x + r * d.a_row);
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c) acc[s][r][c] = Step::step(acc[s][r][c], row, column[c]);
    }
  };
  const std::int64_t bytes = d.k * Step::kBytes;
  std::int64_t at = 0;
  for (; at + kLine <= bytes; at += kLine) {
#pragma GCC unroll 4
    for (int c = 0; c < Columns; ++c) __builtin_prefetch(b + c * apart + at + kFetch);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) step(v % Sets, d.a + at + v * kVector, b + at + v * kVector);
  }
  for (; at + kVector <= bytes; at += kVector) step(0, d.a + at, b + at);
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < Columns; ++c) {
      float32x4_t sum = acc[0][r][c];
#pragma GCC unroll 4
      for (int s = 1; s < Sets; ++s) sum = vaddq_f32(sum, acc[s][r][c]);
      float value = vaddvq_f32(sum);
      for (std::int64_t i = at; i < bytes; i += Step::kBytes)
        value += Step::one(d.a + r * d.a_row + i, b + c * apart + i);
      tile[r * d.tile_stride + c * tile_apart] = value;
    }
}

template <class Step, int Rows>
void dot_rows(const DotProduct& d) {
  constexpr int kWide = Rows > 6 ? 3 : 4, kSets = Rows == 1 ? 4 : Rows == 2 ? 2 : 1;
  const int each = d.cols / kWide;
  for (int i = 0; i < each; ++i)
    dot_block<Step, Rows, kWide, kSets>(d, d.b + i * d.b_row, each * d.b_row, d.tile + i, each);
  for (int i = each * kWide; i < d.cols; ++i) dot_block<Step, Rows, 1, kSets>(d, d.b + i * d.b_row, 0, d.tile + i, 0);
}

template <class Step>
void dot_neon(const DotProduct& d) {
  static constexpr void (*kByRows[kDotRows])(const DotProduct&) = {
      dot_rows<Step, 1>, dot_rows<Step, 2>, dot_rows<Step, 3>, dot_rows<Step, 4>,
      dot_rows<Step, 5>, dot_rows<Step, 6>, dot_rows<Step, 7>, dot_rows<Step, 8>};
  for (DotProduct part = d; part.rows > 0;) {
    const int count = part.rows < kDotRows ? part.rows : kDotRows;
    kByRows[count - 1](part);
    part.rows -= count;
    part.a += count * part.a_row;
    part.tile += count * part.tile_stride;
  }
}

}  // namespace attend::cpu::detail

#endif
