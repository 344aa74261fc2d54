// arm64: products of f32 rows by panels of 12 columns (FMLA). One or two rows are read where they lie; more come
// packed, [k][4 or 8], and an instruction takes one of them from a vector of four.
#pragma once

#if defined(__aarch64__)

#include "attend/cpu/gemm/neon_tile.h"

namespace attend::cpu::detail {

template <int Rows, int Panels>
struct RowSums {
  float32x4_t of[Panels][Rows][3];

  ATTEND_NEON_INLINE void clear() {
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) of[p][r][0] = of[p][r][1] = of[p][r][2] = vdupq_n_f32(0);
  }

  // Row first + kLane, if there is such a row.
  template <int kLane>
  ATTEND_NEON_INLINE void add_row(int p, int first, const float32x4_t (&w)[3], float32x4_t x) {
    if (first + kLane >= Rows) return;
#pragma GCC unroll 3
    for (int v = 0; v < 3; ++v)
      asm volatile("fmla %0.4s, %1.4s, %2.s[%c3]" : "+w"(of[p][first + kLane][v]) : "w"(w[v]), "w"(x), "i"(kLane));
  }

  ATTEND_NEON_INLINE void add(const TileProduct& t) {
    constexpr bool kPacked = Rows > 2;
    constexpr std::int64_t kFetchRows = 512;
    constexpr int kVectors = kPacked ? (Rows + 3) / 4 : Rows;
    const std::byte* a = t.a;
    const std::byte* b = t.b;
    const std::int64_t row = t.a_row, a_step = t.a_k, b_step = t.b_k, apart = t.b_panel, ahead = t.b_ahead;
    for (std::int64_t k = t.k; k > 0; --k, a += a_step, b += b_step) {
      float32x4_t x[kVectors];
#pragma GCC unroll 2
      for (int i = 0; i < kVectors; ++i)
        x[i] = kPacked ? vld1q_f32(reinterpret_cast<const float*>(a) + 4 * i)
                       : vld1q_dup_f32(reinterpret_cast<const float*>(a + i * row));
#pragma GCC unroll 4
      for (int p = 0; p < Panels; ++p) {
        const std::byte* from = b + p * apart;
        float32x4_t w[3];
#pragma GCC unroll 3
        for (int v = 0; v < 3; ++v) w[v] = vld1q_f32(reinterpret_cast<const float*>(from) + 4 * v);
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
            for (int v = 0; v < 3; ++v) of[p][i][v] = vfmaq_f32(of[p][i][v], w[v], x[i]);
          }
        }
      }
    }
  }

  // The rows that the tile has.
  template <bool kAdd>
  ATTEND_NEON_INLINE void put(float* tile, std::int64_t panel, std::int64_t stride, int rows) const {
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
    t.add ? put<true>(t.tile, t.tile_panel, t.tile_stride, t.rows)
          : put<false>(t.tile, t.tile_panel, t.tile_stride, t.rows);
  }
};

template <int Rows, int Panels>
void multiply_rows(const TileProduct& t) {
  RowSums<Rows, Panels> sums;
  sums.clear();
  sums.add(t);
  sums.write(t);
}

// Several panels of B at once: far-apart streams, which memory reads fastest. As many as there are registers for their
// sums. Each element is summed in the same order.
inline void multiply_rows_in_streams(const TileProduct& t) {
  if (t.rows > 2) return multiply_rows<4, 2>(t);
  if (t.panels == 2) return t.rows == 1 ? multiply_rows<1, 2>(t) : multiply_rows<2, 2>(t);
  t.rows == 1 ? multiply_rows<1, kStreams>(t) : multiply_rows<2, kStreams>(t);
}

}  // namespace attend::cpu::detail

#endif
