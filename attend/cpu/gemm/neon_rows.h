// arm64: products of rows by panels of 12 columns, a word of a row at a time: one f32 (FMLA) or four int8 (SDOT). One
// or two rows are read where they lie; more come packed, [words][4 or 8], and an instruction takes one of them from a
// vector of four.
#pragma once

#if defined(__aarch64__)

#include "attend/cpu/gemm/neon_tile.h"

namespace attend::cpu::detail {

struct F32Words {
  using Sum = float32x4_t;
  using Number = float;
  static constexpr int kUnit = 1;  // numbers in a word
  ATTEND_NEON_INLINE static Sum zero() { return vdupq_n_f32(0); }
  ATTEND_NEON_INLINE static Sum repeated(const std::byte* word) {
    return vld1q_dup_f32(reinterpret_cast<const float*>(word));
  }
  ATTEND_NEON_INLINE static Sum step(Sum sum, Sum w, Sum x) { return vfmaq_f32(sum, w, x); }
  template <int kLane>
  ATTEND_NEON_INLINE static void step_lane(Sum& sum, Sum w, Sum x) {
    asm volatile("fmla %0.4s, %1.4s, %2.s[%c3]" : "+w"(sum) : "w"(w), "w"(x), "i"(kLane));
  }
};

struct Int8Words {
  using Sum = int32x4_t;
  using Number = std::int32_t;
  static constexpr int kUnit = 4;
  ATTEND_NEON_INLINE static Sum zero() { return vdupq_n_s32(0); }
  ATTEND_NEON_INLINE static Sum repeated(const std::byte* word) {
    return vld1q_dup_s32(reinterpret_cast<const std::int32_t*>(word));
  }
  ATTEND_NEON_INLINE static Sum step(Sum sum, Sum w, Sum x) {
    asm(ATTEND_DOT_ARCH "sdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(w), "w"(x));
    return sum;
  }
  template <int kLane>
  ATTEND_NEON_INLINE static void step_lane(Sum& sum, Sum w, Sum x) {
    asm volatile(ATTEND_DOT_ARCH "sdot %0.4s, %1.16b, %2.4b[%c3]" : "+w"(sum) : "w"(w), "w"(x), "i"(kLane));
  }
};

template <class Step, int Rows, int Panels>
struct RowSums {
  using Sum = typename Step::Sum;
  using Number = typename Step::Number;
  Sum of[Panels][Rows][3];

  ATTEND_NEON_INLINE void clear() {
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) of[p][r][0] = of[p][r][1] = of[p][r][2] = Step::zero();
  }

  // Row first + kLane, if there is such a row.
  template <int kLane>
  ATTEND_NEON_INLINE void add_row(int p, int first, const Sum (&w)[3], Sum x) {
    if (first + kLane >= Rows) return;
#pragma GCC unroll 3
    for (int v = 0; v < 3; ++v) Step::template step_lane<kLane>(of[p][first + kLane][v], w[v], x);
  }

  ATTEND_NEON_INLINE void add(const TileProduct& t) {
    constexpr bool kPacked = Rows > 2;
    constexpr std::int64_t kFetchRows = 512;
    constexpr int kVectors = kPacked ? (Rows + 3) / 4 : Rows;
    const std::byte* a = t.a;
    const std::byte* b = t.b;
    const std::int64_t row = t.a_row, a_step = t.a_k, b_step = t.b_k, apart = t.b_panel, ahead = t.b_ahead;
    for (std::int64_t words = t.k / Step::kUnit; words > 0; --words, a += a_step, b += b_step) {
      Sum x[kVectors];
#pragma GCC unroll 2
      for (int i = 0; i < kVectors; ++i)
        x[i] = kPacked ? load_four(reinterpret_cast<const Number*>(a) + 4 * i) : Step::repeated(a + i * row);
#pragma GCC unroll 4
      for (int p = 0; p < Panels; ++p) {
        const std::byte* from = b + p * apart;
        Sum w[3];
#pragma GCC unroll 3
        for (int v = 0; v < 3; ++v) w[v] = load_four(reinterpret_cast<const Number*>(from) + 4 * v);
        if constexpr (!kPacked) fetch(from, ahead);
#pragma GCC unroll 2
        for (int i = 0; i < kVectors; ++i) {
          if constexpr (kPacked) {
            add_row<0>(p, 4 * i, w, x[i]);
            add_row<1>(p, 4 * i, w, x[i]);
            if (i == 1) fetch(a, kFetchRows);
            add_row<2>(p, 4 * i, w, x[i]);
            if (i == 0) fetch(from, ahead);
            add_row<3>(p, 4 * i, w, x[i]);
          } else {
#pragma GCC unroll 3
            for (int v = 0; v < 3; ++v) of[p][i][v] = Step::step(of[p][i][v], w[v], x[i]);
          }
        }
      }
    }
  }

  // The rows that the tile has.
  template <bool kAdd>
  ATTEND_NEON_INLINE void put(Number* tile, std::int64_t panel, std::int64_t stride, int rows) const {
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p, tile += panel)
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        if (r >= rows) break;
#pragma GCC unroll 3
        for (int v = 0; v < 3; ++v) put_four<kAdd>(tile + r * stride + 4 * v, of[p][r][v]);
      }
  }

  ATTEND_NEON_INLINE void write(const TileProduct& t) const {
    auto* tile = reinterpret_cast<Number*>(t.tile);
    t.add ? put<true>(tile, t.tile_panel, t.tile_stride, t.rows)
          : put<false>(tile, t.tile_panel, t.tile_stride, t.rows);
  }
};

template <class Step, int Rows, int Panels>
void multiply_rows(const TileProduct& t) {
  RowSums<Step, Rows, Panels> sums;
  sums.clear();
  sums.add(t);
  sums.write(t);
}

// Several panels of B at once: far-apart streams, which memory reads fastest. As many as there are registers for their
// sums. Each element is summed in the same order.
template <class Step>
void multiply_rows_in_streams(const TileProduct& t) {
  if (t.rows > 2) return multiply_rows<Step, 4, 2>(t);
  if (t.panels == 2) return t.rows == 1 ? multiply_rows<Step, 1, 2>(t) : multiply_rows<Step, 2, 2>(t);
  t.rows == 1 ? multiply_rows<Step, 1, kStreams>(t) : multiply_rows<Step, 2, kStreams>(t);
}

}  // namespace attend::cpu::detail

#endif
