// WebAssembly's SIMD128: tiles of 4 x 8, whose eight sums, two vectors of B and one of A fit the 16 registers that a
// browser on x86-64 has. There is no fused multiply-add. int8 is widened as it is loaded, and pairs of k are
// multiplied and added in 32 bits (one instruction on x86-64, three on arm64), so nothing saturates.
#include "attend/cpu/gemm/kernel.h"

#if defined(__wasm_simd128__)

#include <wasm_simd128.h>

#include "attend/cpu/gemm/dot.h"
#include "attend/cpu/gemm/pack.h"
#include "attend/cpu/gemm/quantise.h"

namespace attend::cpu::detail {

namespace {

constexpr int kMaxRows = 4, kColumns = 8;

struct F32Step {
  static constexpr int kUnit = 1;
  [[gnu::always_inline]] static v128_t column(const std::byte* b, int v) { return wasm_v128_load(b + 16 * v); }
  [[gnu::always_inline]] static v128_t row(const std::byte* a) { return wasm_v128_load32_splat(a); }
  [[gnu::always_inline]] static v128_t step(v128_t sum, v128_t a, v128_t b) {
    return wasm_f32x4_add(sum, wasm_f32x4_mul(a, b));
  }
  [[gnu::always_inline]] static v128_t plus(v128_t a, v128_t b) { return wasm_f32x4_add(a, b); }
};

struct Int8Step {
  static constexpr int kUnit = 2;
  [[gnu::always_inline]] static v128_t column(const std::byte* b, int v) { return wasm_i16x8_load8x8(b + 8 * v); }
  [[gnu::always_inline]] static v128_t row(const std::byte* a) {
    return wasm_i16x8_extend_low_i8x16(wasm_v128_load16_splat(a));
  }
  [[gnu::always_inline]] static v128_t step(v128_t sum, v128_t a, v128_t b) {
    return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(a, b));
  }
  [[gnu::always_inline]] static v128_t plus(v128_t a, v128_t b) { return wasm_i32x4_add(a, b); }
};

template <class Step, int Rows>
void store_sums(const TileProduct& t, const v128_t (&sum)[Rows][2]) {
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      float* to = t.tile + r * t.tile_stride + 4 * v;
      wasm_v128_store(to, t.add ? Step::plus(sum[r][v], wasm_v128_load(to)) : sum[r][v]);
    }
}

template <class Step, int Rows>
void multiply_rows(const TileProduct& t) {
  v128_t sum[Rows][2];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) sum[r][0] = sum[r][1] = wasm_i32x4_const_splat(0);
  const auto row = static_cast<std::ptrdiff_t>(t.a_row), a_step = static_cast<std::ptrdiff_t>(t.a_k),
             b_step = static_cast<std::ptrdiff_t>(t.b_k);
  const std::byte* a = t.a;
  const std::byte* b = t.b;
  for (int k = static_cast<int>(t.k) / Step::kUnit; k > 0; --k, a += a_step, b += b_step) {
    const v128_t left = Step::column(b, 0), right = Step::column(b, 1);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      const v128_t x = Step::row(a + r * row);
      sum[r][0] = Step::step(sum[r][0], x, left), sum[r][1] = Step::step(sum[r][1], x, right);
    }
  }
  store_sums<Step>(t, sum);
}

template <class Step>
void multiply(const TileProduct& t) {
  static constexpr void (*kByRows[kMaxRows])(const TileProduct&) = {multiply_rows<Step, 1>, multiply_rows<Step, 2>,
                                                                    multiply_rows<Step, 3>, multiply_rows<Step, 4>};
  kByRows[t.rows - 1](t);
}

// One load widens four pairs of A: those of four packed rows, or the next four of a row that lies as it is.
template <int Pair>
[[gnu::always_inline]] void add_pair(v128_t four, const std::byte* b, v128_t (&sum)[2]) {
  const v128_t x = wasm_i32x4_shuffle(four, four, Pair, Pair, Pair, Pair);
  sum[0] = Int8Step::step(sum[0], x, Int8Step::column(b, 0));
  sum[1] = Int8Step::step(sum[1], x, Int8Step::column(b, 1));
}

void multiply_four_rows(const TileProduct& t) {
  v128_t sum[4][2] = {};
  const auto b_step = static_cast<std::ptrdiff_t>(t.b_k);
  const std::byte *a = t.a, *b = t.b;
  for (int k = static_cast<int>(t.k) / 2; k > 0; --k, a += 8, b += b_step) {
    const v128_t four = wasm_i16x8_load8x8(a);
    add_pair<0>(four, b, sum[0]), add_pair<1>(four, b, sum[1]);
    add_pair<2>(four, b, sum[2]), add_pair<3>(four, b, sum[3]);
  }
  store_sums<Int8Step>(t, sum);
}

void multiply_one_row(const TileProduct& t) {
  v128_t sum[1][2] = {}, odd[2] = {};
  const auto b_step = static_cast<std::ptrdiff_t>(t.b_k);
  const std::byte *a = t.a, *b = t.b;
  int k = static_cast<int>(t.k) / 2;
  for (; k >= 4; k -= 4, a += 8, b += 4 * b_step) {
    const v128_t four = wasm_i16x8_load8x8(a);
    add_pair<0>(four, b, sum[0]), add_pair<1>(four, b + b_step, odd);
    add_pair<2>(four, b + 2 * b_step, sum[0]), add_pair<3>(four, b + 3 * b_step, odd);
  }
  for (; k > 0; --k, a += 2, b += b_step) add_pair<0>(Int8Step::row(a), b, sum[0]);
  for (int v = 0; v < 2; ++v) sum[0][v] = Int8Step::plus(sum[0][v], odd[v]);
  store_sums<Int8Step>(t, sum);
}

void multiply_int8(const TileProduct& t) {
  if (t.rows == 4 && t.a_row == 2 && t.a_k == 8) return multiply_four_rows(t);
  if (t.rows == 1 && t.a_k == 2) return multiply_one_row(t);
  multiply<Int8Step>(t);
}

float largest_wasm(const FloatRow& from, std::int64_t k) { return largest_of_row<4>(from, k); }

void round_wasm(const FloatRow& from, std::int64_t k, float inverse, int offset, std::byte* to) {
  round_row<4>(from, k, inverse, offset, to);
}

void dot_wasm(const DotProduct& d) { Dots<4>::all<3>(d); }

constexpr Kernel kF32{.name = "wasm f32",
                      .mr = kMaxRows,
                      .nr = kColumns,
                      .kc = 256,
                      .mc = 128,
                      .nc = 256,
                      .exact_rows = true,
                      .direct = true,
                      .in_place = kMaxRows,
                      .packs_apart = true,
                      .pack_a = pack_f32,
                      .pack_b = pack_f32,
                      .multiply = multiply<F32Step>,
                      .write = write_generic,
                      .dot = dot_wasm,
                      .dot_rows = 6};

constexpr Kernel kInt8{.name = "wasm int8",
                       .element = DType::i8,
                       .mr = kMaxRows,
                       .nr = kColumns,
                       .a_unit = 2,
                       .b_unit = 2,
                       .k_step = 2,
                       .kc = 1024,
                       .mc = 128,
                       .nc = 256,
                       .in_place = kMaxRows,
                       .pack_a = pack_int8<2>,
                       .pack_b = pack_int8<2>,
                       .multiply = multiply_int8,
                       .write = write_generic,
                       .largest = largest_wasm,
                       .round = round_wasm};

}  // namespace

KernelSet wasm_kernels() { return {.f32 = &kF32, .split = nullptr, .bf16 = nullptr, .int8 = &kInt8}; }

}  // namespace attend::cpu::detail

#else

namespace attend::cpu::detail {
KernelSet wasm_kernels() { return {}; }
}  // namespace attend::cpu::detail

#endif
