// int8 on AVX-512 without VNNI (Skylake-SP): VPMADDUBSW multiplies unsigned bytes of A by signed ones of B and adds
// pairs, VPMADDWD adds these, VPADDD adds them to the sums. Both sides are within ±127, so a pair is at most
// 2 * 127 * 127 and fits 16 bits: the sums are exact.
//
// The first factor is unsigned. A tile of A without a negative number, as behind a ReLU, is taken as it is. For others
// each vector of B gets the sign of A (AVX2 has VPSIGNB for that, AVX-512 a mask), at 0.6 of the speed. Sums are exact
// either way, so a result does not depend on what else is in its tile.
#include "attend/cpu/gemm/kernel.h"

#if defined(__x86_64__)

#include <array>
#include <cstring>
#include <utility>

#include "attend/cpu/gemm/avx512.h"

// Without VNNI, or the compiler makes VPDPWSSD of the last two instructions.
#define ATTEND_AVX512_BW __attribute__((target("avx2,fma,prfchw,avx512f,avx512bw,avx512vl,avx512dq")))
#define ATTEND_AVX512_BW_INLINE ATTEND_AVX512_BW __attribute__((always_inline)) inline

namespace attend::cpu::detail {

namespace {

constexpr int kMaxRows = 12, kColumns = 32;

// Four bytes of k of one row by 16 columns.
template <bool kSigned>
ATTEND_AVX512_BW_INLINE __m512i step(__m512i sum, __m512i a, __mmask64 negative, __m512i b) {
  if constexpr (kSigned) b = _mm512_mask_sub_epi8(b, negative, _mm512_setzero_si512(), b);
  return _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_maddubs_epi16(a, b), _mm512_set1_epi16(1)));
}

template <bool kSigned, int Rows, int Vectors>
ATTEND_AVX512_BW void multiply_rows(const TileProduct& t) {
  __m512i acc[Rows][Vectors];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) acc[r][v] = _mm512_setzero_si512();
  const std::int64_t row = t.a_row, three = 3 * row, a_step = t.a_k, b_step = t.b_k;
  // Four rows apart, so that few registers reach all of them.
  const std::byte* a[3] = {t.a, t.a + 4 * row, t.a + 8 * row};
  const std::byte* b = t.b;
  const std::byte* fetch = t.fetch;
  for (std::int64_t k = t.k / 4; k > 0; --k) {
    if (fetch != nullptr && k % 8 == 0) {
      _mm_prefetch(reinterpret_cast<const char*>(fetch), _MM_HINT_T1);
      _mm_prefetch(reinterpret_cast<const char*>(fetch + t.fetch_also), _MM_HINT_T1);
      if (t.fetch_twice) {
        _mm_prefetch(reinterpret_cast<const char*>(fetch + 2 * t.fetch_also), _MM_HINT_T1);
        _mm_prefetch(reinterpret_cast<const char*>(fetch + 3 * t.fetch_also), _MM_HINT_T1);
      }
      fetch += t.fetch_step;
    }
    __m512i column[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) column[v] = _mm512_loadu_si512(b + 64 * v);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const std::byte* from = r % 4 == 3 ? a[r / 4] + three : a[r / 4] + r % 4 * row;
      std::int32_t word;
      std::memcpy(&word, from, 4);
      __m512i x = _mm512_set1_epi32(word);
      __mmask64 negative = 0;
      if constexpr (kSigned) negative = _mm512_movepi8_mask(x), x = _mm512_abs_epi8(x);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) acc[r][v] = step<kSigned>(acc[r][v], x, negative, column[v]);
    }
    a[0] += a_step, a[1] += a_step, a[2] += a_step, b += b_step;
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) {
      float* to = t.tile + r * t.tile_stride + 16 * v;
      _mm512_storeu_si512(to, t.add ? _mm512_add_epi32(acc[r][v], _mm512_loadu_si512(to)) : acc[r][v]);
    }
}

// Whether a row of a tile, or the panel that it is packed in, has a negative number.
ATTEND_AVX512_BW bool any_negative(const TileProduct& t) {
  __m512i all = _mm512_setzero_si512();
  const auto look = [&](const std::byte* from, std::int64_t count) ATTEND_AVX512_BW {
    for (; count >= 64; count -= 64, from += 64) all = _mm512_or_si512(all, _mm512_loadu_si512(from));
    if (count > 0) {
      const auto mask = static_cast<__mmask64>((std::uint64_t{1} << count) - 1);
      all = _mm512_or_si512(all, _mm512_maskz_loadu_epi8(mask, from));
    }
  };
  if (t.a_k == 4)
    for (int r = 0; r < t.rows; ++r) look(t.a + r * t.a_row, t.k);
  else if (t.a_k == t.rows * t.a_row)
    look(t.a, t.rows * t.k);
  else
    for (std::int64_t k = 0; k < t.k / 4; ++k) look(t.a + k * t.a_k, t.rows * t.a_row);
  return _mm512_movepi8_mask(all) != 0;
}

using Multiply = void (*)(const TileProduct&);

template <bool kSigned, std::size_t... Row>
constexpr std::array<Multiply, 2 * kMaxRows> row_table(std::index_sequence<Row...>) {
  return {multiply_rows<kSigned, Row + 1, 1>..., multiply_rows<kSigned, Row + 1, 2>...};
}

void multiply(const TileProduct& t) {
  static constexpr auto kUnsigned = row_table<false>(std::make_index_sequence<kMaxRows>());
  static constexpr auto kSigned = row_table<true>(std::make_index_sequence<kMaxRows>());
  const int index = t.rows - 1 + (t.cols > 16 ? kMaxRows : 0);
  (any_negative(t) ? kSigned : kUnsigned)[static_cast<std::size_t>(index)](t);
}

constexpr Kernel kInt8{.name = "avx512 int8",
                       .element = DType::i8,
                       .mr = kMaxRows,
                       .nr = kColumns,
                       .a_unit = 4,
                       .b_unit = 4,
                       .k_step = 4,
                       .speed = 42,
                       .kc = 1024,
                       .mc = 240,
                       .nc = 512,
                       .fetch_lines = 2,
                       .fetch_units = 8,
                       .fetch_output = true,
                       .fetch_twice = true,
                       .in_place = kMaxRows,
                       .packs_apart = true,
                       .pack_a = pack_int8_avx512,
                       .pack_b = pack_int8_avx512,
                       .multiply = multiply,
                       .write = write_avx512,
                       .largest = largest_avx512,
                       .round = round_avx512,
                       .no_dots = true};

}  // namespace

const Kernel& int8_kernel_avx512() { return kInt8; }

}  // namespace attend::cpu::detail

#endif
