// AVX2 and FMA: up to 6 x 16 outputs (12 accumulators, 2 vectors of B, 1 broadcast). bf16 operands are widened as they
// are packed. int8 multiplies |a| by b with the sign of a (127 * 127 * 2 fits 16 bits, so nothing saturates).
#include "attend/cpu/gemm/kernel.h"
#include "attend/cpu/gemm/pack.h"

#if defined(__x86_64__)

#include <array>
#include <utility>

#include "attend/cpu/gemm/avx512.h"
#include "attend/cpu/gemm/dot.h"
#include "attend/cpu/gemm/quantise.h"
#include "attend/cpu/gemm/write_tile.h"

#define ATTEND_AVX2 __attribute__((target("avx2,fma")))
#define ATTEND_AVX2_INLINE ATTEND_AVX2 __attribute__((always_inline)) inline

namespace attend::cpu::detail {

namespace {

constexpr int kMaxRows = 6, kColumns = 16;

struct F32Step {
  using Acc = __m256;
  static constexpr int kUnit = 1;
  ATTEND_AVX2_INLINE static Acc zero() { return _mm256_setzero_ps(); }
  ATTEND_AVX2_INLINE static Acc step(Acc c, __m256i a, __m256i b) {
    return _mm256_fmadd_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), c);
  }
  ATTEND_AVX2_INLINE static Acc plus(Acc c, const float* tile) { return _mm256_add_ps(c, _mm256_loadu_ps(tile)); }
  ATTEND_AVX2_INLINE static void store(float* tile, Acc c) { _mm256_storeu_ps(tile, c); }
};

struct Int8Step {
  using Acc = __m256i;
  static constexpr int kUnit = 4;
  ATTEND_AVX2_INLINE static Acc zero() { return _mm256_setzero_si256(); }
  ATTEND_AVX2_INLINE static Acc step(Acc c, __m256i a, __m256i b) {
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a));
    return _mm256_add_epi32(c, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  ATTEND_AVX2_INLINE static Acc plus(Acc c, const float* tile) {
    return _mm256_add_epi32(c, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(tile)));
  }
  ATTEND_AVX2_INLINE static void store(float* tile, Acc c) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(tile), c); }
};

template <class Step, int Rows, int Vectors>
ATTEND_AVX2 void multiply_rows(const TileProduct& t) {
  typename Step::Acc acc[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) acc[r][v] = Step::zero();
  const std::int64_t row = t.a_row, a_step = t.a_k, b_step = t.b_k;
  const std::byte* a = t.a;
  const std::byte* high = t.a + 3 * row;
  const std::byte* b = t.b;
  for (std::int64_t k = t.k / Step::kUnit; k > 0; --k) {
    __m256i column[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) column[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + 32 * v));
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const std::byte* from = r < 3 ? a + r * row : high + (r - 3) * row;
      const __m256i x = _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(from)));
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) acc[r][v] = Step::step(acc[r][v], x, column[v]);
    }
    a += a_step, high += a_step, b += b_step;
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) {
      float* to = t.tile + r * kColumns + 8 * v;
      Step::store(to, t.add ? Step::plus(acc[r][v], to) : acc[r][v]);
    }
}

using Multiply = void (*)(const TileProduct&);

template <class Step, std::size_t... Row>
constexpr std::array<Multiply, 2 * kMaxRows> row_table(std::index_sequence<Row...>) {
  return {multiply_rows<Step, Row + 1, 1>..., multiply_rows<Step, Row + 1, 2>...};
}

template <class Step>
void multiply(const TileProduct& t) {
  static constexpr auto kTable = row_table<Step>(std::make_index_sequence<kMaxRows>());
  kTable[static_cast<std::size_t>(t.rows - 1 + (t.cols > 8 ? kMaxRows : 0))](t);
}

ATTEND_AVX2 void write_avx2(const TileOutput& out) { TileWriter<8>::write(out); }

ATTEND_AVX2 float largest_avx2(const FloatRow& from, std::int64_t k) { return largest_of_row<8>(from, k); }

ATTEND_AVX2 void round_avx2(const FloatRow& from, std::int64_t k, float inverse, int offset, std::byte* to) {
  round_row<8>(from, k, inverse, offset, to);
}

ATTEND_AVX2 void dot_avx2(const DotProduct& d) { Dots<8>::all<3>(d); }

constexpr Kernel kF32{.name = "avx2 f32",
                      .mr = kMaxRows,
                      .nr = kColumns,
                      .kc = 256,
                      .mc = 144,
                      .nc = 512,
                      .in_place = kMaxRows,
                      .packs_apart = true,
                      .pack_a = pack_f32,
                      .pack_b = pack_f32,
                      .multiply = multiply<F32Step>,
                      .write = write_avx2,
                      .dot = dot_avx2,
                      .dot_rows = 9};

constexpr Kernel kInt8{.name = "avx2 int8",
                       .element = DType::i8,
                       .mr = kMaxRows,
                       .nr = kColumns,
                       .a_unit = 4,
                       .b_unit = 4,
                       .k_step = 4,
                       .kc = 1024,
                       .mc = 144,
                       .nc = 512,
                       .in_place = kMaxRows,
                       .packs_apart = true,
                       .pack_a = pack_int8_words,
                       .pack_b = pack_int8_words,
                       .multiply = multiply<Int8Step>,
                       .write = write_avx2,
                       .largest = largest_avx2,
                       .round = round_avx2,
                       .no_dots = true};

}  // namespace

KernelSet avx2_kernels() { return {.f32 = &kF32, .split = nullptr, .bf16 = nullptr, .int8 = &kInt8}; }

}  // namespace attend::cpu::detail

#else

namespace attend::cpu::detail {
KernelSet avx2_kernels() { return {}; }
}  // namespace attend::cpu::detail

#endif
