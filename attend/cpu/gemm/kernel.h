// What one instruction set brings to the matrix product: a micro-kernel, how it wants its operands packed, and the
// block sizes that suit it. blocked.cpp drives any of them (Goto and van de Geijn 2008, "Anatomy of
// High-Performance Matrix Multiplication").
//
// Packed panels. A side of the product (rows of A, or columns of B) is cut into panels of `width` rows; a panel is
// [k / unit][planes][width][unit]: `unit` neighbouring k stay together, as the instruction multiplies them together.
// planes is 2 for f32 split into bf16 hi and lo pieces.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attend/base/dtype.h"
#include "attend/cpu/features.h"
#include "attend/cpu/gemm.h"

namespace attend::cpu::detail {

// One side of a product: element (row, k) is data[row * row_step + k * k_step]; one of the steps is 1.
struct Operand {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t row_step = 0, k_step = 0;
  // Bytes from data to each row, where they are not a step apart; for kernels that pack them so (packs_apart).
  const std::int64_t* rows_at = nullptr;

  std::int64_t bytes_to(int row) const {
    return rows_at != nullptr ? rows_at[row] : row * row_step * static_cast<std::int64_t>(bytes_of(dtype));
  }
  Operand at(std::int64_t row, std::int64_t k) const {
    Operand moved = *this;
    moved.data += (row * row_step + k * k_step) * static_cast<std::int64_t>(bytes_of(dtype));
    return moved;
  }
};

// tile [rows, nr] (+)= a panel x b panel over k elements. Steps in bytes.
struct TileProduct {
  std::int64_t k = 0;  // a multiple of the kernel's k_step
  const std::byte* a = nullptr;
  std::int64_t a_row = 0, a_k = 0;  // from a row, and from a unit of k, to the next
  const std::byte* b = nullptr;
  std::int64_t b_k = 0;      // from a unit of k to the next
  std::int64_t b_ahead = 0;  // to what should be fetched meanwhile
  bool b_streams = false;    // b comes from memory in one run: better read in several
  // A part of the next panel of B on its way to L2: fetch_lines of the kernel, `fetch_also` bytes apart, for every
  // fetch_units units of k; and as many again behind them where few tiles fetch it all.
  const std::byte* fetch = nullptr;
  std::int64_t fetch_step = 0, fetch_also = 0;
  bool fetch_twice = false;
  // More than one (two, or what kernel.streams says): so many panels of B at once, b_panel bytes apart, each into a
  // tile of whole columns; the tiles lie tile_panel numbers apart.
  int panels = 1;
  std::int64_t b_panel = 0, tile_panel = 0;
  int rows = 0, cols = 0;
  float* tile = nullptr;         // f32, or int32 for int8 kernels
  std::int64_t tile_stride = 0;  // nr, or that of C where a kernel with `direct` writes there
  bool add = false;
};

// A finished tile on its way to c.
struct TileOutput {
  const float* tile = nullptr;
  int tile_stride = 0;
  int rows = 0, cols = 0;
  std::byte* c = nullptr;
  std::byte* pre = nullptr;
  const std::byte* residual = nullptr;
  DType c_dtype = DType::f32;
  std::int64_t c_stride = 0;  // elements
  float alpha = 1;
  bool accumulate = false;
  const float* bias = nullptr;  // of the first column
  Activation activation = Activation::none;
  // int8 products: the tile holds int32, and its value is (tile - offsets[j]) * row_scales[i] * col_scales[j].
  const float* row_scales = nullptr;
  const float* col_scales = nullptr;
  const std::int32_t* offsets = nullptr;  // may be null
};

// tile [rows, cols] = a [rows, k] b [cols, k]ᵀ, both with k contiguous and neither packed: for few rows, where
// packing b would cost more than the product. Columns are read in far-apart streams.
struct DotProduct {
  std::int64_t k = 0;
  const std::byte* a = nullptr;
  const std::byte* a_packed = nullptr;  // by kernel.pack_dot, where that is done
  const std::byte* b = nullptr;
  std::int64_t a_row = 0, b_row = 0;  // bytes
  int rows = 0, cols = 0;
  float* tile = nullptr;
  int tile_stride = 0;
};

// from: `rows` rows and `k` elements; to: a panel of `width` rows and k rounded up to k_step. Past the source k is
// zero, and rows hold anything: the products of a tile's rows, or columns, do not mix.
using Pack = void (*)(const Operand& from, int rows, int width, std::int64_t k, std::byte* to);

// Neighbouring numbers, f32 or bf16.
struct FloatRow {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
};

// Towards int8: the largest absolute value of a row, and round(x · inverse) + (offset, in the low byte).
using Largest = float (*)(const FloatRow& from, std::int64_t k);
using Round = void (*)(const FloatRow& from, std::int64_t k, float inverse, int offset, std::byte* to);

struct Kernel {
  const char* name = "";
  DType element = DType::f32;  // of the packed panels
  int planes = 1;
  int mr = 0, nr = 0;    // the largest tile
  int row_multiple = 1;  // a panel of A has a multiple of this many rows, at most mr
  int a_unit = 1, b_unit = 1;
  int k_step = 1;
  double speed = 16;  // multiply-adds per cycle, about
  // Blocks: kc of k at a time, mc rows of A (mc x kc stays in L2), nc columns where tiles wait for the next kc.
  std::int64_t kc = 384, mc = 240, nc = 512;
  std::int64_t ahead = 4096;             // bytes: where a stream of packed panels is fetched to
  int fetch_lines = 0, fetch_units = 0;  // what the micro-kernel fetches of the next panel; 0: nothing
  bool fetch_output = false;             // lines of C and of the residual are fetched while the last sums are taken
  bool fetch_twice = false;              // the micro-kernel knows TileProduct::fetch_twice
  bool add_in_c = false;                 // tiles wait for the next kc in C itself
  bool exact_rows = false;               // a tile of fewer than mr rows writes no others
  bool direct = false;                   // the micro-kernel can write a tile of whole columns straight to C
  int in_place = 0;                      // the micro-kernel also takes B by rows of n, and so many rows of A, unpacked
  bool packs_apart = false;              // pack_a takes Operand::rows_at, of f32 or of this kernel's bytes
  bool a_tiles = false;                  // the micro-kernel takes A by rows where they fill whole tiles
  Pack pack_a = nullptr, pack_b = nullptr;
  void (*multiply)(const TileProduct&) = nullptr;
  void (*write)(const TileOutput&) = nullptr;
  Largest largest = nullptr;  // int8 kernels
  Round round = nullptr;
  // No instruction multiplies bytes and adds them to a sum, so f32 is nearly as fast: convolutions that f32 has a
  // better way for take that.
  bool no_dots = false;
  int a_offset = 0;  // added to quantised values of A: 128 where the instruction takes them unsigned
  // Around the multiplies of a task, whose panels of A have so many rows: tile registers are set up and given back.
  void (*begin)(std::int64_t rows) = nullptr;
  void (*end)() = nullptr;
  void (*dot)(const DotProduct&) = nullptr;
  int dot_rows = 0;         // dot is the faster way up to this many rows
  Pack pack_dot = nullptr;  // from dot_packs rows on, and k in whole steps: packed for dot in a panel of 16
  int dot_packs = 0;
  // Panels that are multiplied at once by so many rows, where memory decides: far-apart streams are what it reads
  // fastest. 4, 2, or 1: one by one; 0: these are not few rows.
  int (*streams)(std::int64_t rows) = [](std::int64_t) { return 0; };

  std::int64_t element_bytes() const { return static_cast<std::int64_t>(bytes_of(element)) * planes; }
  std::int64_t padded(std::int64_t k) const { return (k + k_step - 1) / k_step * k_step; }
  // int8 kernels: one row, symmetric, with scale max|x| / 127, which is returned; `offset` from k to padded.
  float quantise(const FloatRow& from, std::int64_t k, std::int64_t padded, int offset, std::byte* to) const;
};

// Null where this build or this machine has none.
struct KernelSet {
  const Kernel* f32 = nullptr;    // always there
  const Kernel* split = nullptr;  // f32 in bf16 pieces
  const Kernel* bf16 = nullptr;   // null: bf16 operands are widened as they are packed for f32
  const Kernel* int8 = nullptr;   // always there
};

// The best kernels for these features.
KernelSet choose_kernels(const Features& features);

// Writes tiles in vectors of four: what any machine has, and all that arm64 has.
void write_generic(const TileOutput& out);

// One instruction set each; a set that is not compiled in for this architecture returns nulls.
KernelSet generic_kernels();
KernelSet avx2_kernels();
KernelSet avx512_kernels(const Features& features);
KernelSet amx_kernels(const Features& features);
KernelSet neon_kernels(const Features& features);
KernelSet wasm_kernels();

}  // namespace attend::cpu::detail
