// AVX-512 micro-kernels. f32 (FMA), bf16 (VDPBF16PS) and int8 (VPDPBUSD) share one shape: a vector of 16 columns of
// B times a broadcast 32-bit word of A, the word being 1 f32, 2 bf16 or 4 bytes of k. Up to 14 x 32 outputs: 28
// accumulators, 2 vectors of B, 1 broadcast. Rows are exact (1 to 14, one function each), so that 64 rows are
// 13 + 13 + 13 + 13 + 12 and nothing is computed for padding.
#include "attend/cpu/features.h"
#include "attend/cpu/gemm/kernel.h"
#include "attend/cpu/gemm/pack.h"

#if defined(__x86_64__)

#include <array>
#include <cstring>
#include <utility>

#include "attend/cpu/gemm/avx512.h"
#include "attend/cpu/gemm/avx512_streams.h"
#include "attend/cpu/gemm/pack_bf16.h"
#include "attend/cpu/gemm/quantise.h"
#include "attend/cpu/gemm/write_tile.h"

namespace attend::cpu::detail {

ATTEND_AVX512 void pack_words_avx512(const Operand& from, int rows, int width, std::int64_t k, std::byte* to) {
  const std::int64_t pitch = 4 * width;
  if (from.row_step == 1) {
    for (std::int64_t kk = 0; kk < k; ++kk)
      for (int r = 0; r < width; r += 16) {
        const __m512 x = _mm512_maskz_loadu_ps(lanes(rows - r), from.data + 4 * (kk * from.k_step + r));
        _mm512_mask_storeu_ps(to + kk * pitch + 4 * r, lanes(width - r), x);
      }
    return;
  }
  alignas(64) std::byte edge[16 * 64];
  for (int r = 0; r < width && r < rows; r += 16) {
    const __mmask16 wide = lanes(width - r);
    const RowOffsets offsets = row_offsets(from, r, rows - r), whole = row_offsets(64, 16);
    const std::byte* source = from.data;
    std::byte* target = to + 4 * r;
    std::int64_t kk = 0;
    for (; kk + 16 <= k; kk += 16) transpose_words(source + 4 * kk, offsets, target + kk * pitch, pitch, wide, 16);
    if (kk == k) continue;
    const int count = static_cast<int>(k - kk);
    for (int i = 0; i < 16; ++i)
      _mm512_store_ps(edge + 64 * i, _mm512_maskz_loadu_ps(lanes(count), source + offsets.of[i] + 4 * kk));
    transpose_words(edge, whole, target + kk * pitch, pitch, wide, count);
  }
}

void pack_int8_avx512(const Operand& from, int rows, int width, std::int64_t k, std::byte* to) {
  pack_words_avx512({from.data, DType::f32, from.row_step / 4, 1, from.rows_at}, rows, width, k / 4, to);
}

ATTEND_AVX512 float largest_avx512(const FloatRow& from, std::int64_t k) { return largest_of_row<16>(from, k); }

ATTEND_AVX512 void round_avx512(const FloatRow& from, std::int64_t k, float inverse, int offset, std::byte* to) {
  round_row<16>(from, k, inverse, offset, to);
}

ATTEND_AVX512 void write_avx512(const TileOutput& out) { TileWriter<16>::write(out); }

namespace {

constexpr int kMaxRows = 14, kColumns = 32;

// What multiply_rows walks. kAdjacent: the rows of A lie side by side (a packed panel, or a transposed matrix in
// place), so that all rows share one pointer. Otherwise there are two, seven rows apart, and steps of one, three and
// five rows: with the scales of an address they reach all rows from five registers.
template <bool kAdjacent>
struct Walk {
  std::int64_t row, three, five, a_step, b_step;
  const std::byte* a[2];
  const std::byte* b;

  ATTEND_AVX512_INLINE const std::byte* at(int r) const {
    if (kAdjacent) return a[0] + 4 * r;
    const std::byte* from = a[r / 7];
    const int i = r % 7;
    return i == 3 ? from + three : i == 5 ? from + five : i == 6 ? from + 2 * three : from + i * row;
  }
};

// One unit of k.
template <class Step, int Rows, int Vectors, bool kAdjacent>
ATTEND_AVX512_INLINE void unit_step(typename Step::Acc (&acc)[Rows][Vectors], Walk<kAdjacent>& w) {
  // Unknown anew in each step, so that multiples of them are not kept in registers that there are not.
  if constexpr (!kAdjacent) asm("" : "+r"(w.row), "+r"(w.three), "+r"(w.five));
  __m512i column[Vectors];
#pragma GCC unroll 4
  for (int v = 0; v < Vectors; ++v) column[v] = _mm512_loadu_si512(w.b + 64 * v);
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    const std::byte* from = w.at(r);
    // Two rows in three broadcast inside the multiply-add, the third on its own, to stay below two loads per cycle:
    // 14 x 2 products take 26 loads and 37 slots in 14 cycles.
    if constexpr (Step::kInner && Rows > 4) {
      if (r % 3 != 0) {
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) acc[r][v] = Step::step(acc[r][v], from, column[v]);
        continue;
      }
    }
    const __m512i x = broadcast_word(from);
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) acc[r][v] = Step::step(acc[r][v], x, column[v]);
  }
  w.b += w.b_step;
  w.a[0] += w.a_step;
  if constexpr (!kAdjacent && Rows > 7) {
    w.a[1] += w.a_step;
    asm("" : "+r"(w.a[0]), "+r"(w.a[1]));  // or g++ keeps both in a vector, and takes them out again for every load
  }
}

// The same, with what comes `ahead` bytes later in B fetched meanwhile.
template <class Step, int Rows, int Vectors, bool kAdjacent>
ATTEND_AVX512_INLINE void fetching_step(typename Step::Acc (&acc)[Rows][Vectors], Walk<kAdjacent>& w,
                                        std::int64_t ahead) {
#pragma GCC unroll 4
  for (int v = 0; v < Vectors; ++v) _mm_prefetch(reinterpret_cast<const char*>(w.b + ahead + 64 * v), _MM_HINT_T0);
  unit_step<Step, Rows, Vectors, kAdjacent>(acc, w);
}

template <class Step, int Rows, int Vectors, bool kAdjacent>
ATTEND_AVX512 void multiply_rows(const TileProduct& t) {
  typename Step::Acc acc[Rows][Vectors];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) acc[r][v] = Step::zero();
  Walk<kAdjacent> w{t.a_row, 3 * t.a_row, 5 * t.a_row, t.a_k, t.b_k, {t.a, t.a + 7 * t.a_row}, t.b};
  std::int64_t k = t.k / Step::kUnit;
  // Few rows: memory decides, and this panel is fetched ahead. Many: the next one, a little at a time.
  if constexpr (Rows <= 8) {
    const std::int64_t ahead = t.b_ahead;
    // A packed panel in two streams, the halves of k: memory gives a thread more that way.
    if (const std::int64_t half = t.b_streams ? k / 2 : 0; half > 0) {
      Walk<kAdjacent> second = w;
      second.a[0] += half * w.a_step, second.a[1] += half * w.a_step, second.b += half * w.b_step;
      for (std::int64_t i = 0; i < half; ++i) {
        fetching_step<Step, Rows, Vectors, kAdjacent>(acc, w, ahead);
        fetching_step<Step, Rows, Vectors, kAdjacent>(acc, second, ahead);
      }
      k -= 2 * half;
      w = second;
    }
    for (; k > 0; --k) fetching_step<Step, Rows, Vectors, kAdjacent>(acc, w, ahead);
  } else {
    if (const std::byte* fetch = t.fetch) {
      const std::int64_t step = t.fetch_step, also = t.fetch_also;
      const float* out = t.tile;
      const float* const out_end = t.tile + Rows * t.tile_stride;
      for (; k >= 8; k -= 8, fetch += step) {
        if (out < out_end) {
          __builtin_prefetch(out, 1);
          __builtin_prefetch(out + 16, 1);
          out += t.tile_stride;
        }
        _mm_prefetch(reinterpret_cast<const char*>(fetch), _MM_HINT_T1);
        _mm_prefetch(reinterpret_cast<const char*>(fetch + also), _MM_HINT_T1);
        if (t.fetch_twice) {
          _mm_prefetch(reinterpret_cast<const char*>(fetch + 2 * also), _MM_HINT_T1);
          _mm_prefetch(reinterpret_cast<const char*>(fetch + 3 * also), _MM_HINT_T1);
        }
        // Once in the program, as g++ decides by itself for 12 rows of 32 columns and more: eight of them are 5 KB of
        // code, in each of many functions, that save a counter.
#pragma GCC unroll 1
        for (int i = 0; i < 8; ++i) unit_step<Step, Rows, Vectors, kAdjacent>(acc, w);
      }
    }
    for (; k > 0; --k) unit_step<Step, Rows, Vectors, kAdjacent>(acc, w);
  }
  float* const tile = t.tile;
  const std::int64_t stride = t.tile_stride;
  if (t.add) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) acc[r][v] = Step::plus(acc[r][v], tile + r * stride + 16 * v);
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) Step::store(tile + r * stride + 16 * v, acc[r][v]);
}

using Multiply = void (*)(const TileProduct&);

template <class Step, bool kAdjacent, std::size_t... Row>
constexpr std::array<Multiply, 2 * kMaxRows> row_table(std::index_sequence<Row...>) {
  return {multiply_rows<Step, Row + 1, 1, kAdjacent>..., multiply_rows<Step, Row + 1, 2, kAdjacent>...};
}

template <class Step>
void multiply(const TileProduct& t) {
  if (t.panels > 1) return multiply_in_streams<Step>(t);
  static constexpr auto kAdjacent = row_table<Step, true>(std::make_index_sequence<kMaxRows>());
  static constexpr auto kApart = row_table<Step, false>(std::make_index_sequence<kMaxRows>());
  const int index = t.rows - 1 + (t.cols > 16 ? kMaxRows : 0);
  (t.a_row == 4 ? kAdjacent : kApart)[static_cast<std::size_t>(index)](t);
}

void pack_f32_avx512(const Operand& from, int rows, int width, std::int64_t k, std::byte* to) {
  from.dtype == DType::f32 ? pack_words_avx512(from, rows, width, k, to) : pack_f32(from, rows, width, k, to);
}

// Sums of four vectors, in order, in one 128-bit vector.
ATTEND_AVX512_INLINE __m128 sums(__m512 a, __m512 b, __m512 c, __m512 d) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  const __m512 all = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))),
                                   _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))));
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

// The accumulators of Rows x Columns dot products, one vector of k further. kMasked: the end of k.
template <class Step, int Rows, int Columns, bool kMasked>
ATTEND_AVX512_INLINE void dot_step(__m512 (&acc)[Rows][Columns], const std::byte* a, std::int64_t a_row,
                                   const std::byte* b, std::int64_t apart, __mmask32 mask) {
  __m512i w[Columns];
#pragma GCC unroll 4
  for (int c = 0; c < Columns; ++c) _mm_prefetch(reinterpret_cast<const char*>(b + c * apart + 2048), _MM_HINT_T0);
#pragma GCC unroll 4
  for (int c = 0; c < Columns; ++c)
    w[c] = kMasked ? _mm512_maskz_loadu_epi16(mask, b + c * apart) : _mm512_loadu_si512(b + c * apart);
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    __m512i x = kMasked ? _mm512_maskz_loadu_epi16(mask, a + r * a_row) : _mm512_loadu_si512(a + r * a_row);
    asm("" : "+v"(x));  // loaded once: g++ would put the load into each multiply-add, three per row
#pragma GCC unroll 4
    for (int c = 0; c < Columns; ++c) acc[r][c] = Step::step(acc[r][c], x, w[c]);
  }
}

// Rows x (Sets x Columns) dot products over vectors of k; columns are `apart` bytes from each other. Several sets take
// turns, some vectors of k each: for rows that do not fit into the nearest cache, which then are read once for all
// sets.
template <class Step, int Rows, int Columns, int Sets>
ATTEND_AVX512 void dot_block(const DotProduct& d, const std::byte* b, std::int64_t apart, float* tile,
                             std::int64_t tile_apart) {
  constexpr int kLanes = 16 * Step::kUnit;
  const std::int64_t turn = Sets == 1 && d.k > 0 ? d.k : 8 * kLanes, a_row = d.a_row;
  __m512 sums_of[Sets][Rows][Columns];
  for (std::int64_t done = 0; done == 0 || done < d.k; done += turn)
    for (int set = 0; set < Sets; ++set) {
      __m512 acc[Rows][Columns];
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
        for (int c = 0; c < Columns; ++c) acc[r][c] = done == 0 ? _mm512_setzero_ps() : sums_of[set][r][c];
      const std::byte* from_a = d.a + done * 4 / Step::kUnit;
      const std::byte* from_b = b + set * Columns * apart + done * 4 / Step::kUnit;
      std::int64_t k = d.k - done < turn ? d.k - done : turn;
      for (; k >= kLanes; k -= kLanes, from_a += 64, from_b += 64)
        dot_step<Step, Rows, Columns, false>(acc, from_a, a_row, from_b, apart, 0);
      if (k > 0) {
        const auto mask = static_cast<__mmask32>((std::uint64_t{1} << (2 * k / Step::kUnit)) - 1);
        dot_step<Step, Rows, Columns, true>(acc, from_a, a_row, from_b, apart, mask);
      }
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
        for (int c = 0; c < Columns; ++c) sums_of[set][r][c] = acc[r][c];
    }
  for (int set = 0; set < Sets; ++set, tile += Columns * tile_apart)
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const __m512 none = _mm512_setzero_ps();
      const auto& of = sums_of[set][r];
      alignas(16) float out[4];
      _mm_store_ps(
          out, sums(of[0], Columns > 1 ? of[Columns > 1 ? 1 : 0] : none, Columns > 2 ? of[Columns > 2 ? 2 : 0] : none,
                    Columns > 3 ? of[Columns > 3 ? 3 : 0] : none));
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c) tile[r * d.tile_stride + c * tile_apart] = out[c];
    }
}

// All columns for a fixed number of rows: streams a part of the columns apart, then what is left.
template <class Step, int Rows, int Columns, int Sets = 1>
void dot_rows(const DotProduct& d) {
  const int each = d.cols / (Columns * Sets);
  for (int i = 0; i < each; ++i)
    dot_block<Step, Rows, Columns, Sets>(d, d.b + i * d.b_row, each * d.b_row, d.tile + i, each);
  for (int i = each * Columns * Sets; i < d.cols; ++i)
    dot_block<Step, Rows, 1, 1>(d, d.b + i * d.b_row, 0, d.tile + i, 0);
}

constexpr std::int64_t kNearest = 32768;  // bytes of rows that stay in the nearest cache while columns pass by

template <class Step>
void dot(const DotProduct& d) {
  for (DotProduct part = d; part.rows > 0;) {
    // 5 to 7 rows are done as 4 + the rest, 9 and more as 8s.
    const int rows = part.rows >= 8 ? 8 : part.rows >= 6 ? 6 : part.rows >= 4 ? 4 : part.rows;
    switch (rows) {
      case 8:
        part.k * 8 * 4 / Step::kUnit > kNearest ? dot_rows<Step, 8, 3, 2>(part) : dot_rows<Step, 8, 3>(part);
        break;
      case 6:
        dot_rows<Step, 6, 4>(part);
        break;
      case 4:
        dot_rows<Step, 4, 4>(part);
        break;
      case 3:
        dot_rows<Step, 3, 4>(part);
        break;
      case 2:
        dot_rows<Step, 2, 4>(part);
        break;
      default:
        dot_rows<Step, 1, 4>(part);
        break;
    }
    part.rows -= rows;
    part.a += rows * part.a_row;
    part.tile += rows * part.tile_stride;
  }
}

constexpr Kernel kF32{.name = "avx512 f32",
                      .mr = kMaxRows,
                      .nr = kColumns,
                      .speed = 30,
                      .kc = 1024,
                      .mc = 224,
                      .nc = 512,
                      .fetch_lines = 2,
                      .fetch_units = 8,
                      .fetch_output = true,
                      .fetch_twice = true,
                      .add_in_c = true,
                      .exact_rows = true,
                      .direct = true,
                      .in_place = kMaxRows,
                      .packs_apart = true,
                      .pack_a = pack_f32_avx512,
                      .pack_b = pack_f32_avx512,
                      .multiply = multiply<F32Step>,
                      .write = write_avx512,
                      .dot = dot<F32Step>,
                      .dot_rows = 16,
                      .streams = streams_of};

constexpr Kernel kBf16{.name = "avx512 bf16",
                       .element = DType::bf16,
                       .mr = kMaxRows,
                       .nr = kColumns,
                       .a_unit = 2,
                       .b_unit = 2,
                       .k_step = 32,
                       .speed = 50,
                       .kc = 512,
                       .mc = 280,
                       .nc = 512,
                       .fetch_lines = 2,
                       .fetch_units = 8,
                       .fetch_output = true,
                       .fetch_twice = true,
                       .direct = true,
                       .pack_a = pack_bf16_pairs<1>,
                       .pack_b = pack_bf16_pairs<1>,
                       .multiply = multiply<Bf16Step>,
                       .write = write_avx512,
                       .dot = dot_bf16_avx512,
                       .dot_rows = 16,
                       .streams = streams_of};

constexpr Kernel kInt8{.name = "avx512 vnni",
                       .element = DType::i8,
                       .mr = kMaxRows,
                       .nr = kColumns,
                       .a_unit = 4,
                       .b_unit = 4,
                       .k_step = 4,
                       .speed = 100,
                       .kc = 1024,
                       .mc = 280,
                       .nc = 512,
                       .fetch_lines = 2,
                       .fetch_units = 8,
                       .fetch_output = true,
                       .fetch_twice = true,
                       .in_place = kMaxRows,
                       .packs_apart = true,
                       .pack_a = pack_int8_avx512,
                       .pack_b = pack_int8_avx512,
                       .multiply = multiply<Int8Step>,
                       .write = write_avx512,
                       .largest = largest_avx512,
                       .round = round_avx512,
                       .a_offset = 128,
                       .streams = streams_of};

}  // namespace

void dot_bf16_avx512(const DotProduct& product) { dot<Bf16Step>(product); }

KernelSet avx512_kernels(const Features& features) {
  KernelSet set;
  if (!features.avx512) return set;
  set.f32 = &kF32;
  if (features.avx512_bf16) set.bf16 = &kBf16;
  set.int8 = features.avx512_vnni ? &kInt8 : &int8_kernel_avx512();
  return set;
}

}  // namespace attend::cpu::detail

#else

namespace attend::cpu::detail {
KernelSet avx512_kernels(const Features&) { return {}; }
}  // namespace attend::cpu::detail

#endif
