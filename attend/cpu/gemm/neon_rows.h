// arm64: products of rows by panels of 12 columns, word by word: an f32 (FMLA), or four int8 (SDOT). One or two rows
// are read where they lie; more come packed, [words][4 or 8], and an instruction takes one of them from a vector of
// four.
#pragma once

#if defined(__aarch64__)

#include "attend/cpu/gemm/neon_tile.h"

namespace attend::cpu::detail {

// What one instruction multiplies: the words of four columns by one word of a row, into four sums.
struct F32Words {
  using Vector = float32x4_t;
  using Number = float;
  static constexpr int kUnit = 1;  // numbers of a word
  ATTEND_NEON_INLINE static Vector zero() { return vdupq_n_f32(0); }
  ATTEND_NEON_INLINE static Vector load(const std::byte* from) {
    return vld1q_f32(reinterpret_cast<const float*>(from));
  }
  ATTEND_NEON_INLINE static Vector load_one(const std::byte* from) {
    return vld1q_dup_f32(reinterpret_cast<const float*>(from));
  }
  ATTEND_NEON_INLINE static void step(Vector& sum, Vector w, Vector x) { sum = vfmaq_f32(sum, w, x); }
  template <int kLane>
  ATTEND_NEON_INLINE static void step_lane(Vector& sum, Vector w, Vector x) {
    asm volatile("fmla %0.4s, %1.4s, %2.s[%c3]" : "+w"(sum) : "w"(w), "w"(x), "i"(kLane));
  }
};

struct Int8Words {
  using Vector = int32x4_t;
  using Number = std::int32_t;
  static constexpr int kUnit = 4;
  ATTEND_NEON_INLINE static Vector zero() { return vdupq_n_s32(0); }
  ATTEND_NEON_INLINE static Vector load(const std::byte* from) {
    return vreinterpretq_s32_s8(vld1q_s8(reinterpret_cast<const std::int8_t*>(from)));
  }
  ATTEND_NEON_INLINE static Vector load_one(const std::byte* from) {
    return vld1q_dup_s32(reinterpret_cast<const std::int32_t*>(from));
  }
  ATTEND_NEON_INLINE static void step(Vector& sum, Vector w, Vector x) {
    asm(ATTEND_DOT_ARCH "sdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(w), "w"(x));
  }
  template <int kLane>
  ATTEND_NEON_INLINE static void step_lane(Vector& sum, Vector w, Vector x) {
    asm volatile(ATTEND_DOT_ARCH "sdot %0.4s, %1.16b, %2.4b[%c3]" : "+w"(sum) : "w"(w), "w"(x), "i"(kLane));
  }
};

template <class Step, int Rows, int Panels>
struct RowSums {
  using Vector = typename Step::Vector;
  Vector of[Panels][Rows][3];

  ATTEND_NEON_INLINE void clear() {
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) of[p][r][0] = of[p][r][1] = of[p][r][2] = Step::zero();
  }

  // Row first + kLane, if there is such a row.
  template <int kLane>
  ATTEND_NEON_INLINE void add_row(int p, int first, const Vector (&w)[3], Vector x) {
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
      Vector x[kVectors];
#pragma GCC unroll 2
      for (int i = 0; i < kVectors; ++i) x[i] = kPacked ? Step::load(a + 16 * i) : Step::load_one(a + i * row);
#pragma GCC unroll 4
      for (int p = 0; p < Panels; ++p) {
        const std::byte* from = b + p * apart;
        Vector w[3];
#pragma GCC unroll 3
        for (int v = 0; v < 3; ++v) w[v] = Step::load(from + 16 * v);
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
            for (int v = 0; v < 3; ++v) Step::step(of[p][i][v], w[v], x[i]);
          }
        }
      }
    }
  }

  // The rows that the tile has.
  template <bool kAdd>
  ATTEND_NEON_INLINE void put(typename Step::Number* tile, std::int64_t panel, std::int64_t stride, int rows) const {
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
    auto* tile = reinterpret_cast<typename Step::Number*>(t.tile);
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

template <class Step>
void multiply_by_rows(const TileProduct& t) {
  if (t.panels > 1) return multiply_rows_in_streams<Step>(t);
  static constexpr void (*kByRows[])(const TileProduct&) = {
      multiply_rows<Step, 1, 1>, multiply_rows<Step, 2, 1>, multiply_rows<Step, 4, 1>, multiply_rows<Step, 4, 1>,
      multiply_rows<Step, 5, 1>, multiply_rows<Step, 6, 1>, multiply_rows<Step, 7, 1>, multiply_rows<Step, 8, 1>};
  kByRows[t.rows - 1](t);
}

}  // namespace attend::cpu::detail

#endif
