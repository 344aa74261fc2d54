// arm64: f32 (FMLA), bf16 and f32 split into bf16 pieces (BFMMLA), int8 (SMMLA). Tiles of 8 x 12: 24 accumulators.
// The full tiles are inline assembly, because g++ 12 spills the accumulators of the same code in intrinsics (123
// against 260 GFLOP/s for bf16 on a Neoverse-V1 core); fewer rows leave registers free and are intrinsics.
// BFMMLA and SMMLA multiply 2 rows x 16 bytes of k by 2 columns: an accumulator is a 2 x 2 block of the tile.
#include "attend/cpu/features.h"
#include "attend/cpu/gemm/kernel.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include <array>
#include <cstring>
#include <utility>

#include "attend/cpu/gemm/dot.h"
#include "attend/cpu/gemm/neon_streams.h"
#include "attend/cpu/gemm/pack.h"
#include "attend/cpu/gemm/quantise.h"
#include "attend/cpu/gemm/write_tile.h"

namespace attend::cpu::detail {

namespace {

// The accumulators of a full tile are v8 to v31 throughout; v0 to v7 hold operands.
#define ATTEND_ZERO_TILE                                                                                        \
  "movi v8.4s, #0\n movi v9.4s, #0\n movi v10.4s, #0\n movi v11.4s, #0\n movi v12.4s, #0\n movi v13.4s, #0\n"   \
  "movi v14.4s, #0\n movi v15.4s, #0\n movi v16.4s, #0\n movi v17.4s, #0\n movi v18.4s, #0\n movi v19.4s, #0\n" \
  "movi v20.4s, #0\n movi v21.4s, #0\n movi v22.4s, #0\n movi v23.4s, #0\n movi v24.4s, #0\n movi v25.4s, #0\n" \
  "movi v26.4s, #0\n movi v27.4s, #0\n movi v28.4s, #0\n movi v29.4s, #0\n movi v30.4s, #0\n movi v31.4s, #0\n"
#define ATTEND_STORE_TILE                                                                        \
  "stp q8, q9, [%[raw]]\n stp q10, q11, [%[raw], #32]\n stp q12, q13, [%[raw], #64]\n"           \
  "stp q14, q15, [%[raw], #96]\n stp q16, q17, [%[raw], #128]\n stp q18, q19, [%[raw], #160]\n"  \
  "stp q20, q21, [%[raw], #192]\n stp q22, q23, [%[raw], #224]\n stp q24, q25, [%[raw], #256]\n" \
  "stp q26, q27, [%[raw], #288]\n stp q28, q29, [%[raw], #320]\n stp q30, q31, [%[raw], #352]\n"
#define ATTEND_TILE_CLOBBERS                                                                                          \
  "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", \
      "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory"

// Row r of the tile is v(8 + 3r) to v(10 + 3r).
void multiply_f32_full(const TileProduct& t) {
  alignas(16) float raw[kRows * kColumns];
  const std::byte* a = t.a;
  const std::byte* b = t.b;
  std::int64_t k = t.k;
  asm volatile(
      ".macro row lane, source, first, second, third\n"
      "fmla v\\first\\().4s, v2.4s, v\\source\\().s[\\lane]\n"
      "fmla v\\second\\().4s, v3.4s, v\\source\\().s[\\lane]\n"
      "fmla v\\third\\().4s, v4.4s, v\\source\\().s[\\lane]\n"
      ".endm\n" ATTEND_ZERO_TILE
      "cbz %[k], 2f\n"
      "1:\n"
      "ldp q0, q1, [%[a]]\n"
      "ldp q2, q3, [%[b]]\n"
      "ldr q4, [%[b], #32]\n"
      "add %[a], %[a], %[a_step]\n"
      "add %[b], %[b], %[b_step]\n"
      "prfm pldl1keep, [%[a], #512]\n"
      "row 0, 0, 8, 9, 10\n"
      "row 1, 0, 11, 12, 13\n"
      "row 2, 0, 14, 15, 16\n"
      "row 3, 0, 17, 18, 19\n"
      "subs %[k], %[k], #1\n"
      "row 0, 1, 20, 21, 22\n"
      "row 1, 1, 23, 24, 25\n"
      "row 2, 1, 26, 27, 28\n"
      "row 3, 1, 29, 30, 31\n"
      "b.ne 1b\n"
      "2:\n" ATTEND_STORE_TILE ".purgem row\n"
      : [a] "+r"(a), [b] "+r"(b), [k] "+r"(k)
      : [a_step] "r"(t.a_k), [b_step] "r"(t.b_k), [raw] "r"(raw)
      : ATTEND_TILE_CLOBBERS);
  add_rows(raw, t);
}

template <int Rows>
void multiply_f32_rows(const TileProduct& t) {
  float32x4_t acc[Rows][3];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) acc[r][0] = acc[r][1] = acc[r][2] = vdupq_n_f32(0);
  const std::byte* a = t.a;
  const std::byte* b = t.b;
  for (std::int64_t k = 0; k < t.k; ++k, a += t.a_k, b += t.b_k) {
    const float* column = reinterpret_cast<const float*>(b);
    const float32x4_t b0 = vld1q_f32(column), b1 = vld1q_f32(column + 4), b2 = vld1q_f32(column + 8);
    if constexpr (Rows <= 2) __builtin_prefetch(b + t.b_ahead);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const float32x4_t x = vld1q_dup_f32(reinterpret_cast<const float*>(a + r * t.a_row));
      acc[r][0] = vfmaq_f32(acc[r][0], b0, x);
      acc[r][1] = vfmaq_f32(acc[r][1], b1, x);
      acc[r][2] = vfmaq_f32(acc[r][2], b2, x);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < 3; ++v) {
      float* to = t.tile + r * kColumns + 4 * v;
      vst1q_f32(to, t.add ? vaddq_f32(acc[r][v], vld1q_f32(to)) : acc[r][v]);
    }
}

using Multiply = void (*)(const TileProduct&);

void multiply_f32(const TileProduct& t) {
  if (t.panels > 1) return multiply_f32_in_streams(t);
  static constexpr Multiply kByRows[] = {multiply_f32_rows<1>, multiply_f32_rows<2>, multiply_f32_rows<3>,
                                         multiply_f32_rows<4>, multiply_f32_rows<5>, multiply_f32_rows<6>,
                                         multiply_f32_rows<7>, multiply_f32_rows<8>};
  t.rows == kRows&& t.a_row == 4 ? multiply_f32_full(t) : kByRows[t.rows - 1](t);
}

// Four row pairs (v0 to v3) by six column pairs, each loaded to v4 in turn. `mm` is the instruction, defined before.
#define ATTEND_COLUMN \
  "mm \\first, 0, \\from\n mm \\second, 1, \\from\n mm \\third, 2, \\from\n mm \\fourth, 3, \\from\n"
#define ATTEND_COLUMN_MACRO ".macro column from, first, second, third, fourth\n" ATTEND_COLUMN ".endm\n"
#define ATTEND_PAIRS_LOOP          \
  ATTEND_ZERO_TILE                 \
  "cbz %[k], 2f\n"                 \
  "1:\n"                           \
  "ldp q0, q1, [%[a]]\n"           \
  "ldp q2, q3, [%[a], #32]\n"      \
  "ldp q4, q5, [%[b]]\n"           \
  "add %[a], %[a], #64\n"          \
  "column 4, 8, 14, 20, 26\n"      \
  "ldp q6, q7, [%[b], #32]\n"      \
  "column 5, 9, 15, 21, 27\n"      \
  "ldp q4, q5, [%[b], #64]\n"      \
  "add %[b], %[b], #96\n"          \
  "column 6, 10, 16, 22, 28\n"     \
  "prfm pldl1keep, [%[a], #512]\n" \
  "column 7, 11, 17, 23, 29\n"     \
  "subs %[k], %[k], #1\n"          \
  "column 4, 12, 18, 24, 30\n"     \
  "column 5, 13, 19, 25, 31\n"     \
  "b.ne 1b\n"                      \
  "2:\n" ATTEND_STORE_TILE ".purgem column\n .purgem mm\n"

ATTEND_BF16 void multiply_bf16_full(const TileProduct& t) {
  alignas(16) float raw[kRows * kColumns];
  const std::byte* a = t.a;
  const std::byte* b = t.b;
  std::int64_t k = t.k / 4;
  asm volatile(".macro mm to, left, right\n bfmmla v\\to\\().4s, v\\left\\().8h, v\\right\\().8h\n .endm\n"  //
               ATTEND_COLUMN_MACRO ATTEND_PAIRS_LOOP
               : [a] "+r"(a), [b] "+r"(b), [k] "+r"(k)
               : [raw] "r"(raw)
               : ATTEND_TILE_CLOBBERS);
  add_blocks(raw, t);
}

ATTEND_I8MM void multiply_int8_full(const TileProduct& t) {
  alignas(16) std::int32_t raw[kRows * kColumns];
  const std::byte* a = t.a;
  const std::byte* b = t.b;
  std::int64_t k = t.k / 8;
  asm volatile(".macro mm to, left, right\n smmla v\\to\\().4s, v\\left\\().16b, v\\right\\().16b\n .endm\n"  //
               ATTEND_COLUMN_MACRO ATTEND_PAIRS_LOOP
               : [a] "+r"(a), [b] "+r"(b), [k] "+r"(k)
               : [raw] "r"(raw)
               : ATTEND_TILE_CLOBBERS);
  add_blocks(raw, t);
}

// Panels [k / 4][hi, lo][..][4]: a step of k is 128 bytes of A and 192 of B. First hi*hi and hi*lo, then lo*hi.
ATTEND_BF16 void multiply_split_full(const TileProduct& t) {
  alignas(16) float raw[kRows * kColumns];
  const std::byte* a = t.a;
  const std::byte* b = t.b;
  std::int64_t k = t.k / 4;
  asm volatile(".macro mm to, left, right\n bfmmla v\\to\\().4s, v\\left\\().8h, v\\right\\().8h\n .endm\n"  //
               ATTEND_COLUMN_MACRO ATTEND_ZERO_TILE
               "cbz %[k], 2f\n"
               "1:\n"
               "ldp q0, q1, [%[a]]\n"
               "ldp q2, q3, [%[a], #32]\n"
               "ldp q4, q5, [%[b]]\n"
               "column 4, 8, 14, 20, 26\n"
               "ldp q6, q7, [%[b], #96]\n"
               "column 5, 9, 15, 21, 27\n"
               "ldp q4, q5, [%[b], #32]\n"
               "column 6, 8, 14, 20, 26\n"
               "column 7, 9, 15, 21, 27\n"
               "ldp q6, q7, [%[b], #128]\n"
               "column 4, 10, 16, 22, 28\n"
               "column 5, 11, 17, 23, 29\n"
               "ldp q4, q5, [%[b], #64]\n"
               "column 6, 10, 16, 22, 28\n"
               "column 7, 11, 17, 23, 29\n"
               "ldp q6, q7, [%[b], #160]\n"
               "column 4, 12, 18, 24, 30\n"
               "column 5, 13, 19, 25, 31\n"
               "column 6, 12, 18, 24, 30\n"
               "column 7, 13, 19, 25, 31\n"
               "ldp q0, q1, [%[a], #64]\n"
               "ldp q2, q3, [%[a], #96]\n"
               "ldp q6, q7, [%[b]]\n"
               "prfm pldl1keep, [%[a], #768]\n"
               "column 4, 12, 18, 24, 30\n"
               "column 5, 13, 19, 25, 31\n"
               "ldp q4, q5, [%[b], #32]\n"
               "column 6, 8, 14, 20, 26\n"
               "column 7, 9, 15, 21, 27\n"
               "add %[a], %[a], #128\n"
               "add %[b], %[b], #192\n"
               "subs %[k], %[k], #1\n"
               "column 4, 10, 16, 22, 28\n"
               "column 5, 11, 17, 23, 29\n"
               "b.ne 1b\n"
               "2:\n" ATTEND_STORE_TILE ".purgem column\n .purgem mm\n"
               : [a] "+r"(a), [b] "+r"(b), [k] "+r"(k)
               : [raw] "r"(raw)
               : ATTEND_TILE_CLOBBERS);
  add_blocks(raw, t);
}

// Up to three row pairs; kPlanes 2 is the split product.
template <int Pairs, int kPlanes>
ATTEND_BF16 void multiply_bf16_pairs(const TileProduct& t) {
  float32x4_t acc[Pairs][6];
#pragma GCC unroll 3
  for (int p = 0; p < Pairs; ++p)
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) acc[p][j] = vdupq_n_f32(0);
  const std::byte* a = t.a;
  const std::byte* b = t.b;
  constexpr std::int64_t kLowA = Pairs * 16, kLowB = 96;
  for (std::int64_t k = t.k / 4; k > 0; --k, a += kPlanes * kLowA, b += kPlanes * kLowB) {
    __builtin_prefetch(b + 1024);
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) {
      const bfloat16x8_t high = vld1q_bf16(reinterpret_cast<const bfloat16_t*>(b + 16 * j));
#pragma GCC unroll 3
      for (int p = 0; p < Pairs; ++p) {
        const bfloat16x8_t x = vld1q_bf16(reinterpret_cast<const bfloat16_t*>(a + 16 * p));
        acc[p][j] = vbfmmlaq_f32(acc[p][j], x, high);
        if constexpr (kPlanes == 2) {
          const bfloat16x8_t low = vld1q_bf16(reinterpret_cast<const bfloat16_t*>(b + kLowB + 16 * j));
          const bfloat16x8_t x_low = vld1q_bf16(reinterpret_cast<const bfloat16_t*>(a + kLowA + 16 * p));
          acc[p][j] = vbfmmlaq_f32(acc[p][j], x, low);
          acc[p][j] = vbfmmlaq_f32(acc[p][j], x_low, high);
        }
      }
    }
  }
  alignas(16) float raw[kRows * kColumns];
#pragma GCC unroll 3
  for (int p = 0; p < Pairs; ++p)
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) vst1q_f32(raw + (p * 6 + j) * 4, acc[p][j]);
  add_blocks(raw, t);
}

template <int Pairs>
ATTEND_I8MM void multiply_int8_pairs(const TileProduct& t) {
  int32x4_t acc[Pairs][6];
#pragma GCC unroll 3
  for (int p = 0; p < Pairs; ++p)
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) acc[p][j] = vdupq_n_s32(0);
  const std::int8_t* a = reinterpret_cast<const std::int8_t*>(t.a);
  const std::int8_t* b = reinterpret_cast<const std::int8_t*>(t.b);
  for (std::int64_t k = t.k / 8; k > 0; --k, a += Pairs * 16, b += 96) {
    __builtin_prefetch(b + 1024);
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) {
      const int8x16_t w = vld1q_s8(b + 16 * j);
#pragma GCC unroll 3
      for (int p = 0; p < Pairs; ++p) acc[p][j] = vmmlaq_s32(acc[p][j], vld1q_s8(a + 16 * p), w);
    }
  }
  alignas(16) std::int32_t raw[kRows * kColumns];
#pragma GCC unroll 3
  for (int p = 0; p < Pairs; ++p)
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) vst1q_s32(raw + (p * 6 + j) * 4, acc[p][j]);
  add_blocks(raw, t);
}

// The width of the panel is in the step of A: 16 bytes a pair of rows and plane.
int pairs_of(const TileProduct& t, int planes) { return static_cast<int>(t.a_k / (16 * planes)); }

void multiply_bf16(const TileProduct& t) {
  if (t.panels > 1) return t.panels == 2 ? multiply_bf16_streams<1, 2>(t) : multiply_bf16_streams<1, kStreams>(t);
  static constexpr Multiply kByPairs[] = {multiply_bf16_pairs<1, 1>, multiply_bf16_pairs<2, 1>,
                                          multiply_bf16_pairs<3, 1>, multiply_bf16_full};
  kByPairs[pairs_of(t, 1) - 1](t);
}

void multiply_split(const TileProduct& t) {
  if (t.panels > 1) return t.panels == 2 ? multiply_bf16_streams<2, 2>(t) : multiply_bf16_streams<2, kStreams>(t);
  static constexpr Multiply kByPairs[] = {multiply_bf16_pairs<1, 2>, multiply_bf16_pairs<2, 2>,
                                          multiply_bf16_pairs<3, 2>, multiply_split_full};
  kByPairs[pairs_of(t, 2) - 1](t);
}

void multiply_int8(const TileProduct& t) {
  if (t.panels > 1) return t.panels == 2 ? multiply_int8_streams<2>(t) : multiply_int8_streams<kStreams>(t);
  static constexpr Multiply kByPairs[] = {multiply_int8_pairs<1>, multiply_int8_pairs<2>, multiply_int8_pairs<3>,
                                          multiply_int8_full};
  kByPairs[pairs_of(t, 1) - 1](t);
}

void write_neon(const TileOutput& out) { TileWriter<4>::write(out); }

float quantise_neon(const FloatRow& from, std::int64_t k, std::int64_t padded, int offset, std::byte* to) {
  return quantise_row<4>(from, k, padded, offset, to);
}

void dot_neon(const DotProduct& d) { Dots<4>::all<4>(d); }

// Blocks for 64 KB of L1 and 1 MB of L2 a core.
constexpr Kernel kF32{.name = "neon f32",
                      .mr = kRows,
                      .nr = kColumns,
                      .kc = 512,
                      .mc = 160,
                      .nc = 480,
                      .in_place = true,
                      .pack_a = pack_f32,
                      .pack_b = pack_f32,
                      .multiply = multiply_f32,
                      .write = write_neon,
                      .dot = dot_neon,
                      .dot_rows = 12,
                      .streams = kStreams,
                      .stream_rows = kF32StreamRows};

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
                       .pack_a = pack_bf16_fours<1>,
                       .pack_b = pack_bf16_fours<1>,
                       .multiply = multiply_bf16,
                       .write = write_neon,
                       .streams = kStreams,
                       .stream_rows = kStreamRows};

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
                        .pack_a = pack_bf16_fours<2>,
                        .pack_b = pack_bf16_fours<2>,
                        .multiply = multiply_split,
                        .write = write_neon,
                        .streams = kStreams,
                        .stream_rows = kStreamRows};

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
                       .pack_a = pack_int8<8>,
                       .pack_b = pack_int8<8>,
                       .multiply = multiply_int8,
                       .write = write_neon,
                       .quantise = quantise_neon,
                       .streams = kStreams,
                       .stream_rows = kStreamRows};

}  // namespace

KernelSet neon_kernels(const Features& features) {
  KernelSet set{.f32 = &kF32};
  if (features.neon_bf16) set.bf16 = &kBf16, set.split = &kSplit;
  if (features.neon_i8mm) set.int8 = &kInt8;
  return set;
}

}  // namespace attend::cpu::detail

#else

namespace attend::cpu::detail {
KernelSet neon_kernels(const Features&) { return {}; }
}  // namespace attend::cpu::detail

#endif
