// The entry of the matrix product: checks, the choice of kernel, batches.
#include "attend/cpu/gemm.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/cpu/features.h"
#include "attend/cpu/gemm/bias.h"
#include "attend/cpu/gemm/blocked.h"
#include "attend/cpu/gemm/pad_images.h"

namespace attend::cpu {

namespace {

using detail::Kernel;
using detail::KernelSet;
using detail::Operand;

const KernelSet& kernels() {
  static const KernelSet set = detail::choose_kernels(features());
  return set;
}

// Rows of A, or columns of B: in memory the other way round, so B passes its flag inverted.
Operand side(const Matrix& matrix, bool k_contiguous) {
  return {static_cast<const std::byte*>(matrix.data), matrix.dtype, k_contiguous ? matrix.stride : 1,
          k_contiguous ? 1 : matrix.stride};
}

void check_product(const Gemm& g) {
  check(g.m >= 0 && g.n >= 0 && g.k >= 0 && g.batch >= 0, "gemm: sizes {} x {} x {}, batch {} must not be negative",
        g.m, g.n, g.k, g.batch);
  check(g.a.dtype == g.b.dtype && is_float(g.a.dtype), "gemm: a is {} and b is {}; both must be f32, or both bf16",
        name_of(g.a.dtype), name_of(g.b.dtype));
  check(is_float(g.c_dtype), "gemm: c is {}; it must be f32 or bf16", name_of(g.c_dtype));
  check(g.bias == nullptr || is_float(g.bias_dtype), "gemm: the bias is {}; it must be f32 or bf16",
        name_of(g.bias_dtype));
  const auto fits = [](std::int64_t stride, std::int64_t width, std::int64_t height) {
    return stride >= width || height <= 1;
  };
  check(g.windows.x == nullptr || (g.k == g.windows.row() && g.batch == 1), "gemm: windows of {}, but k is {}",
        g.windows.row(), g.k);
  check(g.windows.x != nullptr || fits(g.a.stride, g.a.transposed ? g.m : g.k, g.a.transposed ? g.k : g.m),
        "gemm: a is {} x {}{}, but its stride is {}", g.m, g.k, g.a.transposed ? " transposed" : "", g.a.stride);
  check(fits(g.b.stride, g.b.transposed ? g.k : g.n, g.b.transposed ? g.n : g.k),
        "gemm: b is {} x {}{}, but its stride is {}", g.k, g.n, g.b.transposed ? " transposed" : "", g.b.stride);
  check(fits(g.c_stride, g.n, g.m), "gemm: c is {} x {}, but its stride is {}", g.m, g.n, g.c_stride);
}

// Splitting pays where the packing of both sides (m + n) is shared by enough work (m n): from 96 x 96 on. Rows that are
// to be alike are taken for many.
const Kernel& choose(const Gemm& g) {
  const KernelSet& set = kernels();
  if (g.a.dtype == DType::bf16) return set.bf16 != nullptr ? *set.bf16 : *set.f32;
  const bool pays = g.rows_alike ? g.n >= 48 : g.m * g.n >= 48 * (g.m + g.n);
  return g.precision == Precision::split && set.split != nullptr && pays ? *set.split : *set.f32;
}

}  // namespace

void gemm(const Gemm& g, ThreadPool& pool) {
  check_product(g);
  if (g.m == 0 || g.n == 0 || g.batch == 0) return;
  const Kernel& kernel = choose(g);
  detail::Job job{.m = g.m,
                  .n = g.n,
                  .k = g.k,
                  .a = side(g.a, !g.a.transposed),
                  .b = side(g.b, g.b.transposed),
                  .windows = g.windows.x != nullptr ? detail::pad_images(g.windows, g.m, pool) : Windows{},
                  .b_panels = nullptr,
                  .out = g.output(),
                  .dequantise = {},
                  .rows_alike = g.rows_alike};
  job.out.bias = detail::bias_in_f32(g.bias, g.bias_dtype, g.n);
  const bool dot = !g.rows_alike && kernel.dot != nullptr && g.m <= kernel.dot_rows && g.windows.x == nullptr &&
                   job.a.k_step == 1 && job.b.k_step == 1 && g.a.dtype == kernel.element && kernel.planes == 1;
  const auto one = [&](std::int64_t index, ThreadPool* threads) {
    detail::Job each = job;
    const auto move = [&](void* p, std::int64_t by) -> void* {
      return p == nullptr ? p
                          : static_cast<std::byte*>(p) + index * by * static_cast<std::int64_t>(bytes_of(g.c_dtype));
    };
    each.a.data += index * g.a_batch * static_cast<std::int64_t>(bytes_of(g.a.dtype));
    each.b.data += index * g.b_batch * static_cast<std::int64_t>(bytes_of(g.b.dtype));
    each.out.c = move(g.c, g.c_batch);
    each.out.pre = move(g.pre, g.c_batch);
    each.out.residual = move(const_cast<void*>(g.residual), g.c_batch);
    dot ? multiply_dot(kernel, each, threads) : multiply_blocked(kernel, each, threads);
  };
  // Many or small matrices: a thread takes whole ones. Few large ones: all threads work on each.
  constexpr std::int64_t kSmall = std::int64_t{1} << 22;
  if (g.batch > 1 && (g.batch >= 4 * pool.threads() || g.m * g.n * g.k <= kSmall)) {
    const std::int64_t grain = std::max<std::int64_t>(1, (1 << 19) / std::max<std::int64_t>(1, g.m * g.n * g.k));
    pool.for_range(g.batch, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) one(i, nullptr);
    });
    return;
  }
  const bool small = g.m * g.n * g.k <= (1 << 17);
  for (std::int64_t i = 0; i < g.batch; ++i) one(i, small ? nullptr : &pool);
}

}  // namespace attend::cpu
