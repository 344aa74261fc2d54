// The blocked product over one kernel: packs, cuts C into tasks, runs the micro-kernel, writes tiles out.
#pragma once

#include "attend/cpu/gemm/kernel.h"

namespace attend::cpu::detail {

// Scales of an int8 product, see TileOutput.
struct Dequantise {
  const float* rows = nullptr;            // [m]
  const float* cols = nullptr;            // [n]
  const std::int32_t* offsets = nullptr;  // [n] or none
};

// A finished tile on its way to the place of row `row` and column `col` in `out`, whose bias is f32.
inline TileOutput tile_output(const Kernel& kernel, const GemmOutput& out, const Dequantise& scales, std::int64_t row,
                              int rows, std::int64_t col, int cols, const float* tile) {
  const std::int64_t at = (row * out.c_stride + col) * static_cast<std::int64_t>(bytes_of(out.c_dtype));
  return {.tile = tile,
          .tile_stride = kernel.nr,
          .rows = rows,
          .cols = cols,
          .c = static_cast<std::byte*>(out.c) + at,
          .pre = out.pre != nullptr ? static_cast<std::byte*>(out.pre) + at : nullptr,
          .residual = out.residual != nullptr ? static_cast<const std::byte*>(out.residual) + at : nullptr,
          .c_dtype = out.c_dtype,
          .c_stride = out.c_stride,
          .alpha = out.alpha,
          .accumulate = out.accumulate,
          .bias = out.bias != nullptr ? static_cast<const float*>(out.bias) + col : nullptr,
          .activation = out.activation,
          .row_scales = scales.rows != nullptr ? scales.rows + row : nullptr,
          .col_scales = scales.cols != nullptr ? scales.cols + col : nullptr,
          .offsets = scales.offsets != nullptr ? scales.offsets + col : nullptr};
}

// Brings what a tile is going to read and to fill: a tile of a wide C lies in as many pages as it has rows.
inline void fetch_output(const TileOutput& out) {
  const std::int64_t bytes = static_cast<std::int64_t>(bytes_of(out.c_dtype));
  const std::int64_t step = out.c_stride * bytes, wide = out.cols * bytes;
  for (std::int64_t r = 0; r < out.rows; ++r)
    for (std::int64_t line = 0; line < wide; line += 64) {
      __builtin_prefetch(out.c + r * step + line, 1);
      if (out.residual != nullptr) __builtin_prefetch(out.residual + r * step + line);
    }
}

// The rows of an int8 product before they are: k floats each, quantised into a (padded, one after another) as the first
// thing a product does.
struct Quantised {
  Operand from = {};
  std::int64_t k = 0;
  std::byte* rows = nullptr;
  float* scales = nullptr;  // [m]
};

struct Job {
  std::int64_t m = 0, n = 0, k = 0;
  Operand a = {}, b = {};
  Windows windows = {};                 // with x: the rows of a
  const std::byte* b_panels = nullptr;  // b already packed over the whole of k
  GemmOutput out = {};                  // bias is f32 here
  Dequantise dequantise = {};
  Quantised quantised = {};  // rows null: a is there already
  bool rows_alike = false;   // Gemm::rows_alike; so are all products of packed weights
};

// A null pool runs everything on this thread, for use inside a task.
void multiply_blocked(const Kernel& kernel, const Job& job, ThreadPool* pool);
// The same, not now but whenever what is recorded runs, on as many threads as the pool has.
void keep_blocked(const Kernel& kernel, const Job& job, ThreadPool& pool, Recording& recording);

// For few rows: b is read where it lies (kernel.dot), both operands with k contiguous.
void multiply_dot(const Kernel& kernel, const Job& job, ThreadPool* pool);

// The bytes of b packed over the whole of k.
std::int64_t packed_bytes(const Kernel& kernel, std::int64_t n, std::int64_t k);

}  // namespace attend::cpu::detail
