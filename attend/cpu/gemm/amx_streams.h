// Few rows by four panels packed for AMX, with AVX-512: tile loads keep fewer lines on their way from memory than
// vector loads do (12 against 18 GB/s per thread). Results are those of the tiles, bit by bit: whole numbers are exact,
// and for bf16 the sums are taken in the order of TDPBF16PS, even and odd k apart over 32 of them, then both to the
// rest, and denormal numbers are zero, as they are to that instruction. A is packed in tiles, [k / depth][16 rows][64
// bytes].
#pragma once

#if defined(__x86_64__)

#include "attend/cpu/gemm/avx512_streams.h"

namespace attend::cpu::detail {

// The instruction takes its first operand unsigned: the weights are, plus 128, and 128 times the sum of A comes off.
struct Int8Rows {
  static constexpr int kDepth = 64;
  using Acc = __m512i;
  struct Sums {
    __m512i sum;
  };
  ATTEND_AVX512_INLINE static void clear(Sums& s) { s.sum = _mm512_setzero_si512(); }
  struct Word {
    __m512i x;
  };
  ATTEND_AVX512_INLINE static Word word(const std::byte* a) { return {broadcast_word(a)}; }
  ATTEND_AVX512_INLINE static void step(Sums& s, const Word& word, __m512i b) {
    s.sum = _mm512_dpbusd_epi32(s.sum, _mm512_xor_si512(b, _mm512_set1_epi8(static_cast<char>(0x80))), word.x);
  }
  ATTEND_AVX512_INLINE static __m512i offset(__m512i so_far, const Word& word) {
    return _mm512_dpbusd_epi32(so_far, _mm512_set1_epi8(static_cast<char>(0x80)), word.x);
  }
  // What a depth of k adds.
  ATTEND_AVX512_INLINE static void fold(Acc& total, Sums& s) {
    total = _mm512_add_epi32(total, s.sum);
    clear(s);
  }
  ATTEND_AVX512_INLINE static Acc less(Acc total, __m512i offset) { return _mm512_sub_epi32(total, offset); }
  ATTEND_AVX512_INLINE static Acc load(const float* tile) { return _mm512_loadu_si512(tile); }
  ATTEND_AVX512_INLINE static void store(float* tile, Acc c) { _mm512_storeu_si512(tile, c); }
  ATTEND_AVX512_INLINE static Acc zero() { return _mm512_setzero_si512(); }
};

struct Bf16Rows {
  static constexpr int kDepth = 32;
  using Acc = __m512;
  struct Sums {
    __m512 even, odd;
  };
  ATTEND_AVX512_INLINE static void clear(Sums& s) { s.even = s.odd = _mm512_setzero_ps(); }
  struct Word {
    __m512 even, odd;
  };
  ATTEND_AVX512_INLINE static __m512 even_of(__m512i pairs) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
  }
  ATTEND_AVX512_INLINE static __m512 odd_of(__m512i pairs) {
    return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
  }
  ATTEND_AVX512_INLINE static Word word(const std::byte* a) {
    const __m512i pairs = broadcast_word(a);
    return {even_of(pairs), odd_of(pairs)};
  }
  ATTEND_AVX512_INLINE static void step(Sums& s, const Word& word, __m512i b) {
    s.even = _mm512_fmadd_ps(word.even, even_of(b), s.even);
    s.odd = _mm512_fmadd_ps(word.odd, odd_of(b), s.odd);
  }
  ATTEND_AVX512_INLINE static __m512i offset(__m512i so_far, const Word&) { return so_far; }
  ATTEND_AVX512_INLINE static void fold(Acc& total, Sums& s) {
    total = _mm512_add_ps(total, _mm512_add_ps(s.even, s.odd));
    clear(s);
  }
  ATTEND_AVX512_INLINE static Acc less(Acc total, __m512i) { return total; }
  ATTEND_AVX512_INLINE static Acc load(const float* tile) { return _mm512_loadu_ps(tile); }
  ATTEND_AVX512_INLINE static void store(float* tile, Acc c) { _mm512_storeu_ps(tile, c); }
  ATTEND_AVX512_INLINE static Acc zero() { return _mm512_setzero_ps(); }
};

// While it lives, denormal numbers are read and written as zeros.
class NoDenormals {
 public:
  NoDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~NoDenormals() { _mm_setcsr(before_); }
  NoDenormals(const NoDenormals&) = delete;
  NoDenormals& operator=(const NoDenormals&) = delete;

 private:
  unsigned before_;
};

// One row by Panels panels. Tiles start from what is there (add), as AMX's do.
template <class Rows, int Panels>
ATTEND_AVX512 void multiply_amx_row(const TileProduct& t) {
  const NoDenormals as_tiles;
  typename Rows::Acc total[Panels][2];
  typename Rows::Sums sums[Panels][2];
#pragma GCC unroll 4
  for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      const float* tile = t.tile + p * t.tile_panel + 16 * v;
      total[p][v] = t.add ? Rows::load(tile) : Rows::zero();
      Rows::clear(sums[p][v]);
    }
  __m512i offset = _mm512_setzero_si512();
  const std::byte* a = t.a;
  const std::byte* b = t.b;
  const std::int64_t apart = t.b_panel;
  for (std::int64_t k = t.k; k > 0; k -= Rows::kDepth, a += t.a_k) {
    for (int word = 0; word < 16; ++word, b += 128) {
      const auto x = Rows::word(a + 4 * word);
      offset = Rows::offset(offset, x);
#pragma GCC unroll 4
      for (int p = 0; p < Panels; ++p) {
        const std::byte* from = b + p * apart;
        _mm_prefetch(reinterpret_cast<const char*>(from + 4096), _MM_HINT_T0);
        _mm_prefetch(reinterpret_cast<const char*>(from + 4160), _MM_HINT_T0);
        Rows::step(sums[p][0], x, _mm512_loadu_si512(from));
        Rows::step(sums[p][1], x, _mm512_loadu_si512(from + 64));
      }
    }
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) Rows::fold(total[p][0], sums[p][0]), Rows::fold(total[p][1], sums[p][1]);
  }
#pragma GCC unroll 4
  for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) Rows::store(t.tile + p * t.tile_panel + 16 * v, Rows::less(total[p][v], offset));
}

// One row by Panels panels of f32 split into bf16 pieces, [k / 32][hi, lo][16 pairs][32][2]: lo*hi, hi*hi and hi*lo of
// 32 k, each summed apart and then added, as the tiles add them.
template <int Panels>
ATTEND_AVX512 void multiply_split_row(const TileProduct& t) {
  const NoDenormals as_tiles;
  using Rows = Bf16Rows;
  __m512 total[Panels][2];
  Rows::Sums low[Panels][2], high[Panels][2];
#pragma GCC unroll 2
  for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      total[p][v] = t.add ? Rows::load(t.tile + p * t.tile_panel + 16 * v) : Rows::zero();
      Rows::clear(low[p][v]), Rows::clear(high[p][v]);
    }
  const std::int64_t apart = t.b_panel, a_low = t.a_k / 2;
  const std::byte* b = t.b;
  const std::byte* a = t.a;
  for (std::int64_t k = t.k; k > 0; k -= Rows::kDepth, a += t.a_k) {
    for (int word = 0; word < 16; ++word, b += 128) {
      const auto x = Rows::word(a + 4 * word), rest = Rows::word(a + a_low + 4 * word);
#pragma GCC unroll 2
      for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) {
          const std::byte* from = b + p * apart + 64 * v;
          _mm_prefetch(reinterpret_cast<const char*>(from + 8192), _MM_HINT_T0);
          const __m512i weights = _mm512_loadu_si512(from);
          Rows::step(low[p][v], rest, weights);
          Rows::step(high[p][v], x, weights);
        }
    }
#pragma GCC unroll 2
    for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) Rows::fold(total[p][v], low[p][v]), Rows::fold(total[p][v], high[p][v]);
    for (int word = 0; word < 16; ++word, b += 128) {
      const auto x = Rows::word(a + 4 * word);
#pragma GCC unroll 2
      for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) {
          const std::byte* from = b + p * apart + 64 * v;
          _mm_prefetch(reinterpret_cast<const char*>(from + 8192), _MM_HINT_T0);
          Rows::step(low[p][v], x, _mm512_loadu_si512(from));
        }
    }
#pragma GCC unroll 2
    for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) Rows::fold(total[p][v], low[p][v]);
  }
#pragma GCC unroll 2
  for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) Rows::store(t.tile + p * t.tile_panel + 16 * v, total[p][v]);
}

}  // namespace attend::cpu::detail

#endif
