// Kernels for any machine: plain loops that the compiler may vectorise for the baseline. Correct and simple.
#include "attend/cpu/gemm/kernel.h"
#include "attend/cpu/gemm/pack.h"
#include "attend/cpu/gemm/quantise.h"
#include "attend/cpu/gemm/write_tile.h"

namespace attend::cpu::detail {

void write_generic(const TileOutput& out) { TileWriter<4>::write(out); }

namespace {

constexpr int kRows = 4, kColumns = 8;

template <class T, class Acc>
void multiply(const TileProduct& t) {
  Acc acc[kRows][kColumns] = {};
  for (std::int64_t k = 0; k < t.k; ++k) {
    const T* b = reinterpret_cast<const T*>(t.b + k * t.b_k);
    for (int r = 0; r < t.rows; ++r) {
      const Acc a = *reinterpret_cast<const T*>(t.a + r * t.a_row + k * t.a_k);  // NOLINT: a number
      for (int c = 0; c < kColumns; ++c) acc[r][c] += a * static_cast<Acc>(b[c]);
    }
  }
  Acc* tile = reinterpret_cast<Acc*>(t.tile);
  for (int r = 0; r < t.rows; ++r)
    for (int c = 0; c < kColumns; ++c) tile[r * kColumns + c] = acc[r][c] + (t.add ? tile[r * kColumns + c] : Acc{});
}

float largest(const FloatRow& from, std::int64_t k) { return largest_of_row<4>(from, k); }

void round(const FloatRow& from, std::int64_t k, float inverse, int offset, std::byte* to) {
  round_row<4>(from, k, inverse, offset, to);
}

constexpr Kernel kF32{.name = "generic f32",
                      .mr = kRows,
                      .nr = kColumns,
                      .kc = 256,
                      .mc = 128,
                      .nc = 256,
                      .in_place = kRows,
                      .packs_apart = true,
                      .pack_a = pack_f32,
                      .pack_b = pack_f32,
                      .multiply = multiply<float, float>,
                      .write = write_generic};

constexpr Kernel kInt8{.name = "generic int8",
                       .element = DType::i8,
                       .mr = kRows,
                       .nr = kColumns,
                       .kc = 1024,
                       .mc = 128,
                       .nc = 256,
                       .pack_a = pack_int8<1>,
                       .pack_b = pack_int8<1>,
                       .multiply = multiply<std::int8_t, std::int32_t>,
                       .write = write_generic,
                       .largest = largest,
                       .round = round};

}  // namespace

KernelSet generic_kernels() { return {.f32 = &kF32, .split = nullptr, .bf16 = nullptr, .int8 = &kInt8}; }

}  // namespace attend::cpu::detail
