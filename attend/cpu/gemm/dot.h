// Products of few f32 rows with b read where it lies (DotProduct), with GCC vectors, for AVX2. Four columns a quarter
// of the range apart: far-apart streams are what the memory system reads fastest.
#pragma once

#include <cstring>

#include "attend/cpu/gemm/kernel.h"
#include "attend/cpu/lanes.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace attend::cpu::detail {

template <int Width>
struct Dots {
  using F = typename Lanes<Width>::Float;
  using Loose = typename Lanes<Width>::Loose;

  [[gnu::always_inline]] static F load(const std::byte* from) { return *reinterpret_cast<const Loose*>(from); }

  [[gnu::always_inline]] static float sum(F v) {
    float s[Width];
    std::memcpy(s, &v, sizeof s);
    for (int half = Width / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) s[i] += s[i + half];
    return s[0];
  }

  template <int Rows, int Columns>
  [[gnu::always_inline]] static void block(const DotProduct& d, const std::byte* b, std::int64_t apart, float* tile,
                                           std::int64_t tile_apart) {
    F acc[Rows][Columns] = {};
    std::int64_t k = 0;
    for (; k + Width <= d.k; k += Width) {
      F w[Columns];
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c) w[c] = load(b + c * apart + 4 * k);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        const F x = load(d.a + r * d.a_row + 4 * k);
#pragma GCC unroll 4
        for (int c = 0; c < Columns; ++c) acc[r][c] += x * w[c];
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c) {
        float value = sum(acc[r][c]);
        for (std::int64_t i = k; i < d.k; ++i)
          value +=
              reinterpret_cast<const float*>(d.a + r * d.a_row)[i] * reinterpret_cast<const float*>(b + c * apart)[i];
        tile[r * d.tile_stride + c * tile_apart] = value;
      }
  }

  template <int Rows, int Columns>
  [[gnu::always_inline]] static void rows(const DotProduct& d) {
    const int each = d.cols / Columns;
    for (int i = 0; i < each; ++i) block<Rows, Columns>(d, d.b + i * d.b_row, each * d.b_row, d.tile + i, each);
    for (int i = each * Columns; i < d.cols; ++i) block<Rows, 1>(d, d.b + i * d.b_row, 0, d.tile + i, 0);
  }

  // Most: the rows that fit the registers beside four columns.
  template <int Most>
  [[gnu::always_inline]] static void all(const DotProduct& d) {
    for (DotProduct part = d; part.rows > 0;) {
      const int count = part.rows >= Most ? Most : part.rows >= 2 ? 2 : 1;
      if (count == Most)
        rows<Most, Most >= 4 ? 4 : 3>(part);
      else if (count == 2)
        rows<2, 4>(part);
      else
        rows<1, 4>(part);
      part.rows -= count;
      part.a += count * part.a_row;
      part.tile += count * part.tile_stride;
    }
  }
};

}  // namespace attend::cpu::detail

#pragma GCC diagnostic pop
