// AVX-512: what one instruction multiplies (a step: f32, pairs of bf16, fours of int8), and the product of few rows by
// several packed panels at once.
#pragma once

#if defined(__x86_64__)

#include <cstring>

#include "attend/cpu/gemm/avx512.h"
#include "attend/cpu/gemm/kernel.h"

namespace attend::cpu::detail {

struct F32Step {
  using Acc = __m512;
  static constexpr int kUnit = 1;
  ATTEND_AVX512_INLINE static Acc zero() { return _mm512_setzero_ps(); }
  ATTEND_AVX512_INLINE static Acc step(Acc c, __m512i a, __m512i b) {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), c);
  }
  // The broadcast inside the multiply-add: one slot of the front end where a broadcast of its own takes two.
  static constexpr bool kInner = true;
  ATTEND_AVX512_INLINE static Acc step(Acc c, const std::byte* a, __m512i b) {
    asm("vfmadd231ps %1%{1to16%}, %2, %0" : "+v"(c) : "m"(*reinterpret_cast<const float*>(a)), "v"(b));
    return c;
  }
  ATTEND_AVX512_INLINE static Acc plus(Acc c, const float* tile) { return _mm512_add_ps(c, _mm512_loadu_ps(tile)); }
  ATTEND_AVX512_INLINE static void store(float* tile, Acc c) { _mm512_storeu_ps(tile, c); }
};

struct Bf16Step : F32Step {
  static constexpr int kUnit = 2;
  static constexpr bool kInner = false;
  ATTEND_AVX512_INLINE static Acc step(Acc c, __m512i a, __m512i b) {
    return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
  }
};

// A is unsigned here: quantised values plus 128. The driver takes 128 * (sum of the column) off again.
struct Int8Step {
  using Acc = __m512i;
  static constexpr int kUnit = 4;
  static constexpr bool kInner = false;
  ATTEND_AVX512_INLINE static Acc zero() { return _mm512_setzero_si512(); }
  ATTEND_AVX512_INLINE static Acc step(Acc c, __m512i a, __m512i b) { return _mm512_dpbusd_epi32(c, a, b); }
  ATTEND_AVX512_INLINE static Acc plus(Acc c, const float* tile) {
    return _mm512_add_epi32(c, _mm512_loadu_si512(tile));
  }
  ATTEND_AVX512_INLINE static void store(float* tile, Acc c) { _mm512_storeu_si512(tile, c); }
};

ATTEND_AVX512_INLINE __m512i broadcast_word(const std::byte* from) {
  std::int32_t word;
  std::memcpy(&word, from, 4);
  return _mm512_set1_epi32(word);
}

// Few rows by Panels panels of B at once (TileProduct::panels): memory decides, and gives a thread more in far-apart
// streams. Each element is summed in the order in which multiply_rows sums it.
template <class Step, int Rows, int Panels>
ATTEND_AVX512 void multiply_streams(const TileProduct& t) {
  typename Step::Acc acc[Panels][Rows][2];
#pragma GCC unroll 4
  for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) acc[p][r][0] = acc[p][r][1] = Step::zero();
  const std::byte* a = t.a;
  const std::byte* b = t.b;
  const std::int64_t apart = t.b_panel, ahead = t.b_ahead;
  for (std::int64_t k = t.k / Step::kUnit; k > 0; --k, a += t.a_k, b += t.b_k) {
    __m512i x[Rows];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) x[r] = broadcast_word(a + r * t.a_row);
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) {
      const std::byte* from = b + p * apart;
      _mm_prefetch(reinterpret_cast<const char*>(from + ahead), _MM_HINT_T0);
      _mm_prefetch(reinterpret_cast<const char*>(from + ahead + 64), _MM_HINT_T0);
      const __m512i left = _mm512_loadu_si512(from), right = _mm512_loadu_si512(from + 64);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        acc[p][r][0] = Step::step(acc[p][r][0], x[r], left);
        acc[p][r][1] = Step::step(acc[p][r][1], x[r], right);
      }
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) {
        float* to = t.tile + p * t.tile_panel + r * t.tile_stride + 16 * v;
        Step::store(to, t.add ? Step::plus(acc[p][r][v], to) : acc[p][r][v]);
      }
}

// More rows: their sums fill the registers for one panel. The panels take turns, some units of k each, and the sums of
// the others wait in the nearest cache; so these are several streams to memory, too (66 to 80 % of the bandwidth with
// one panel after the other, 82 to 98 % so).
template <class Step, int Rows, int Panels>
ATTEND_AVX512 void multiply_in_turns(const TileProduct& t) {
  static_assert(Rows > 4 && Rows <= 8);
  constexpr std::int64_t kTurn = 8;
  typename Step::Acc sums[Panels][Rows][2];
  for (auto& panel : sums)
    for (auto& of_row : panel) of_row[0] = of_row[1] = Step::zero();
  const std::byte* a = t.a;
  const std::byte* b = t.b;
  const std::int64_t units = t.k / Step::kUnit, ahead = t.b_ahead, a_k = t.a_k, b_k = t.b_k;
  const std::int64_t row = t.a_row, three = 3 * row;
  for (std::int64_t done = 0; done < units; done += kTurn, a += kTurn * a_k, b += kTurn * b_k) {
    const std::int64_t turn = units - done < kTurn ? units - done : kTurn;
    for (int p = 0; p < Panels; ++p) {
      typename Step::Acc acc[Rows][2];
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) acc[r][v] = sums[p][r][v];
      const std::byte* low = a;
      const std::byte* high = a + 4 * row;
      const std::byte* from = b + p * t.b_panel;
      for (std::int64_t i = 0; i < turn; ++i, low += a_k, high += a_k, from += b_k) {
        _mm_prefetch(reinterpret_cast<const char*>(from + ahead), _MM_HINT_T0);
        _mm_prefetch(reinterpret_cast<const char*>(from + ahead + 64), _MM_HINT_T0);
        const __m512i left = _mm512_loadu_si512(from), right = _mm512_loadu_si512(from + 64);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
          const std::byte* first = r < 4 ? low : high;
          const __m512i x = broadcast_word(r % 4 == 3 ? first + three : first + r % 4 * row);
          acc[r][0] = Step::step(acc[r][0], x, left);
          acc[r][1] = Step::step(acc[r][1], x, right);
        }
      }
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) sums[p][r][v] = acc[r][v];
    }
  }
  for (int p = 0; p < Panels; ++p)
    for (int r = 0; r < Rows; ++r)
      for (int v = 0; v < 2; ++v) {
        float* to = t.tile + p * t.tile_panel + r * t.tile_stride + 16 * v;
        Step::store(to, t.add ? Step::plus(sums[p][r][v], to) : sums[p][r][v]);
      }
}

constexpr int kStreams = 4;

// No more streams than are read together, or take turns: a panel that waits is a stream that starts anew.
inline int streams_of(std::int64_t rows) { return rows > 8 ? 0 : rows == 4 || rows == 5 ? 2 : kStreams; }

// As many panels at once as the registers hold the sums of, or in turns.
template <class Step>
void multiply_in_streams(const TileProduct& t) {
  using Multiply = void (*)(const TileProduct&);
  if (t.rows > 5) {
    static constexpr Multiply kByRows[][2] = {{multiply_in_turns<Step, 6, 2>, multiply_in_turns<Step, 6, kStreams>},
                                              {multiply_in_turns<Step, 7, 2>, multiply_in_turns<Step, 7, kStreams>},
                                              {multiply_in_turns<Step, 8, 2>, multiply_in_turns<Step, 8, kStreams>}};
    return kByRows[t.rows - 6][t.panels == 2 ? 0 : 1](t);
  }
  if (t.panels == 2) {
    static constexpr Multiply kByRows[] = {multiply_streams<Step, 1, 2>, multiply_streams<Step, 2, 2>,
                                           multiply_streams<Step, 3, 2>, multiply_streams<Step, 4, 2>,
                                           multiply_streams<Step, 5, 2>};
    return kByRows[t.rows - 1](t);
  }
  static constexpr Multiply kByRows[] = {multiply_streams<Step, 1, kStreams>, multiply_streams<Step, 2, kStreams>,
                                         multiply_streams<Step, 3, kStreams>};
  kByRows[t.rows - 1](t);
}

}  // namespace attend::cpu::detail

#endif
