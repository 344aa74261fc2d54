// arm64: f32 (FMLA), bf16 and f32 split into bf16 pieces (BFMMLA), int8 (SMMLA, or SDOT). Tiles of 8 x 12: 24 sums, and
// eight registers for what is multiplied.
#include "attend/cpu/features.h"
#include "attend/cpu/gemm/kernel.h"

#if defined(__aarch64__)

#include "attend/cpu/gemm/neon_dot.h"
#include "attend/cpu/gemm/neon_pack.h"
#include "attend/cpu/gemm/neon_pairs.h"
#include "attend/cpu/gemm/neon_quantise.h"
#include "attend/cpu/gemm/neon_rows.h"
#include "attend/cpu/gemm/pack.h"

namespace attend::cpu::detail {

namespace {

// Of more rows than kRowsInPlace A comes packed, [k][4 or 8].
constexpr int kRowsInPlace = 2;

template <class Step>
void multiply_by_rows(const TileProduct& t) {
  if (t.panels > 1) return multiply_rows_in_streams<Step>(t);
  static constexpr void (*kByRows[])(const TileProduct&) = {
      multiply_rows<Step, 1, 1>, multiply_rows<Step, 2, 1>, multiply_rows<Step, 4, 1>, multiply_rows<Step, 4, 1>,
      multiply_rows<Step, 5, 1>, multiply_rows<Step, 6, 1>, multiply_rows<Step, 7, 1>, multiply_rows<Step, 8, 1>};
  kByRows[t.rows - 1](t);
}

// The width of the panel is in the step of A: 16 bytes per pair of rows and plane.
template <class Step>
void multiply_by_pairs(const TileProduct& t) {
  if (t.panels > 1) return multiply_pairs_in_streams<Step>(t);
  static constexpr void (*kByPairs[])(const TileProduct&) = {multiply_pairs<Step, 1, 1>, multiply_pairs<Step, 2, 1>,
                                                             multiply_pairs<Step, 3, 1>, multiply_pairs<Step, 4, 1>};
  kByPairs[t.a_k / (16 * Step::kPlanes) - 1](t);
}

// Five rows of f32 and more keep the arithmetic busy with one stream.
template <int kOfMost>
int streams(std::int64_t rows) {
  return rows > kRows ? 0 : rows > 4 ? kOfMost : rows > 2 ? kStreamsOfMany : kStreams;
}

// Blocks for 64 KB of L1 and 1 MB of L2 a core.
constexpr Kernel kF32{.name = "neon f32",
                      .mr = kRows,
                      .nr = kColumns,
                      .row_multiple = 4,
                      .kc = 768,
                      .mc = 160,
                      .nc = 480,
                      .ahead = kFetch,
                      .exact_rows = true,
                      .direct = true,
                      .in_place = kRowsInPlace,
                      .packs_apart = true,
                      .pack_a = pack_f32,
                      .pack_b = pack_f32,
                      .multiply = multiply_by_rows<F32Words>,
                      .write = write_generic,
                      .dot = dot_neon<F32Dot>,
                      .dot_rows = kDotRows,
                      .streams = streams<1>};

constexpr Kernel kBf16{.name = "neon bf16",
                       .element = DType::bf16,
                       .mr = kRows,
                       .nr = kColumns,
                       .row_multiple = 2,
                       .a_unit = 4,
                       .b_unit = 4,
                       .k_step = 4,
                       .speed = 50,
                       .kc = 1024,
                       .mc = 160,
                       .nc = 480,
                       .ahead = kFetch,
                       .pack_a = pack_bf16<1>,
                       .pack_b = pack_bf16<1>,
                       .multiply = multiply_by_pairs<Bf16Pairs>,
                       .write = write_generic,
                       .dot = dot_neon<Bf16Dot>,
                       .dot_rows = kDotRows,
                       .streams = streams<kStreamsOfMany>};

constexpr Kernel kSplit{.name = "neon split",
                        .element = DType::bf16,
                        .planes = 2,
                        .mr = kRows,
                        .nr = kColumns,
                        .row_multiple = 2,
                        .a_unit = 4,
                        .b_unit = 4,
                        .k_step = 4,
                        .speed = 20,
                        .kc = 512,
                        .mc = 160,
                        .nc = 480,
                        .ahead = kFetch,
                        .pack_a = pack_bf16<2>,
                        .pack_b = pack_bf16<2>,
                        .multiply = multiply_by_pairs<SplitPairs>,
                        .write = write_generic,
                        .streams = streams<kStreamsOfMany>};

constexpr Kernel kInt8Dot{.name = "neon int8 dot",
                          .element = DType::i8,
                          .mr = kRows,
                          .nr = kColumns,
                          .row_multiple = 4,
                          .a_unit = 4,
                          .b_unit = 4,
                          .k_step = 4,
                          .speed = 30,
                          .kc = 2048,
                          .mc = 160,
                          .nc = 480,
                          .ahead = kFetch,
                          .in_place = kRowsInPlace,
                          .packs_apart = true,
                          .pack_a = pack_int8_words,
                          .pack_b = pack_int8_words,
                          .multiply = multiply_by_rows<Int8Words>,
                          .write = write_generic,
                          .largest = largest_neon,
                          .round = round_neon,
                          .streams = streams<1>};

constexpr Kernel kInt8{.name = "neon int8",
                       .element = DType::i8,
                       .mr = kRows,
                       .nr = kColumns,
                       .row_multiple = 2,
                       .a_unit = 8,
                       .b_unit = 8,
                       .k_step = 8,
                       .speed = 90,
                       .kc = 2048,
                       .mc = 160,
                       .nc = 480,
                       .ahead = kFetch,
                       .pack_a = pack_int8<8>,
                       .pack_b = pack_int8<8>,
                       .multiply = multiply_by_pairs<Int8Pairs>,
                       .write = write_generic,
                       .largest = largest_neon,
                       .round = round_neon,
                       .streams = streams<kStreamsOfMany>};

}  // namespace

KernelSet neon_kernels(const Features& features) {
  KernelSet set{.f32 = &kF32};
  if (features.neon_bf16) set.bf16 = &kBf16, set.split = &kSplit;
  if (features.neon_dot) set.int8 = &kInt8Dot;
  if (features.neon_i8mm) set.int8 = &kInt8;
  return set;
}

}  // namespace attend::cpu::detail

#else

namespace attend::cpu::detail {
KernelSet neon_kernels(const Features&) { return {}; }
}  // namespace attend::cpu::detail

#endif
