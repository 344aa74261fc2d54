// Products of few rows with B read where it lies: memory decides, and a task is a range of columns.
#include <algorithm>

#include "attend/cpu/gemm/blocked.h"
#include "attend/cpu/scratch.h"

namespace attend::cpu::detail {

namespace {

// Work worth a task of its own, in multiply-adds: about 10 µs.
constexpr std::int64_t kTaskWork = 1 << 20;
constexpr std::int64_t kMostColumns = 960;  // whose results wait in a tile

thread_local Scratch packed_rows;  // the caller's, shared with the workers of one product
thread_local Scratch task_tiles;   // each worker's own

}  // namespace

void multiply_dot(const Kernel& kernel, const Job& job, ThreadPool* pool) {
  if (job.m == 0 || job.n == 0) return;
  const std::byte* packed = nullptr;
  if (kernel.pack_dot != nullptr && job.m >= kernel.dot_packs && job.k % kernel.k_step == 0) {
    std::byte* to = packed_rows.get(static_cast<std::size_t>(16 * job.k * kernel.element_bytes()));
    kernel.pack_dot(job.a, static_cast<int>(job.m), 16, job.k, to);
    packed = to;
  }
  const std::int64_t bytes = static_cast<std::int64_t>(bytes_of(kernel.element));
  const auto piece = [&](std::int64_t col, std::int64_t wide) {
    const int cols = static_cast<int>(wide);
    const Operand b = job.b.at(col, 0);
    float* tile = reinterpret_cast<float*>(task_tiles.get(static_cast<std::size_t>(job.m * wide * 4)));
    kernel.dot({.k = job.k,
                .a = job.a.data,
                .a_packed = packed,
                .b = b.data,
                .a_row = job.a.row_step * bytes,
                .b_row = b.row_step * bytes,
                .rows = static_cast<int>(job.m),
                .cols = cols,
                .tile = tile,
                .tile_stride = cols});
    const GemmOutput& out = job.out;
    const std::int64_t at = col * static_cast<std::int64_t>(bytes_of(out.c_dtype));
    kernel.write({.tile = tile,
                  .tile_stride = cols,
                  .rows = static_cast<int>(job.m),
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
                  .row_scales = nullptr,
                  .col_scales = nullptr,
                  .offsets = nullptr});
  };
  // Tasks are runs of a few columns, as long as there are many: streams lie a part of a run apart. No piece has fewer
  // than these few, unless the product has: another kernel would take it, with other sums, and who gets which piece is
  // chance.
  const std::int64_t few = packed != nullptr ? 32 : 12, tasks = std::max<std::int64_t>(1, job.n / few);
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t last = end == tasks ? job.n : end * few;
    for (std::int64_t col = begin * few, wide; col < last; col += wide) {
      wide = last - col < kMostColumns + few ? last - col : kMostColumns;
      piece(col, wide);
    }
  };
  // Packed, rows cost next to nothing.
  const std::int64_t row_work =
      std::max<std::int64_t>(1, job.k * (packed != nullptr ? 4 : std::max<std::int64_t>(4, job.m)));
  if (pool != nullptr && tasks > 1 && job.m * job.n * job.k > kTaskWork / 8)
    pool->run({ThreadPool::runs(tasks, tasks, run, std::max<std::int64_t>(1, kTaskWork / 8 / row_work / few))});
  else
    run(0, tasks);
}

}  // namespace attend::cpu::detail
