// Sums, means and maxima over a middle axis, and their gradients.
#include <cstring>

#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

namespace {

// Columns a task takes: four vectors of the widest kind.
constexpr std::int64_t kColumns = 64;

}  // namespace

void CpuBackend::reduce(Reduction kind, const Tensor& x, const Grad& y, const Tensor& index) {
  if (!y) return;
  const std::int64_t A = x.dim(0), N = x.dim(1), C = x.dim(2);
  const float scale = kind == Reduction::mean ? 1.0f / static_cast<float>(N) : 1.0f;
  const DType dtype = x.dtype();
  // The bias gradient of a linear layer: few columns and many rows, which are shared out.
  if (A == 1 && C > 1 && kind == Reduction::sum)
    return activation_backward(x.reshape({N, C}), {}, Activation::none, {}, {y.into.reshape({C}), y.accumulate});
  if (C == 1 && kind != Reduction::max) {  // rows: x [A, N] -> y [A]
    cpu::for_rows(pool(), A, N, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t a = begin; a < end; ++a) {
        const float sum = rows_.row_sum[cpu::kind_of(x)](cpu::at(x.raw(), a * N, dtype), N);
        cpu::Out out{cpu::at(y.into.raw(), a, y.into.dtype()), y.accumulate};
        rows_.scale[0][cpu::kind_of(y.into)](&sum, scale, out, 1);
      }
    });
    return;
  }
  const std::int64_t blocks = (C + kColumns - 1) / kColumns;
  const auto kernel = kind == Reduction::max ? rows_.reduce_max[cpu::kind_of(x)]
                                             : rows_.reduce_sum[cpu::kind_of(x)][cpu::kind_of(y.into)];
  cpu::for_rows(pool(), A * blocks, N * std::min(C, kColumns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t a = task / blocks, column = task % blocks * kColumns;
      cpu::ReduceColumns args;
      args.x = cpu::at(x.raw(), a * N * C + column, dtype);
      args.n = N, args.width = std::min(kColumns, C - column), args.stride = C;
      args.scale = scale;
      args.y = {cpu::at(y.into.raw(), a * C + column, y.into.dtype()), y.accumulate};
      if (index.defined()) args.index = index.data<std::int32_t>() + a * C + column;
      kernel(args);
    }
  });
}

void CpuBackend::reduce_backward(Reduction kind, const Tensor& dy, const Tensor& index, const Grad& dx) {
  if (!dx) return;
  const std::int64_t A = dx.into.dim(0), N = dx.into.dim(1), C = dx.into.dim(2);
  const DType dtype = dx.into.dtype();
  const auto copy = rows_.scale[cpu::kind_of(dy)][cpu::kind_of(dx.into)];
  if (kind != Reduction::max) {
    const float scale = kind == Reduction::mean ? 1.0f / static_cast<float>(N) : 1.0f;
    cpu::for_rows(pool(), A * N, C, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        cpu::Out out{cpu::at(dx.into.raw(), row * C, dtype), dx.accumulate};
        copy(cpu::at(dy.raw(), row / N * C, dy.dtype()), scale, out, C);
      }
    });
    return;
  }
  const std::int32_t* where = index.data<std::int32_t>();
  cpu::for_rows(pool(), A, N * C, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t a = begin; a < end; ++a) {
      if (!dx.accumulate)
        std::memset(cpu::at(dx.into.raw(), a * N * C, dtype), 0, static_cast<std::size_t>(N * C) * bytes_of(dtype));
      for (std::int64_t c = 0; N > 0 && c < C; ++c) {
        cpu::Out out{cpu::at(dx.into.raw(), (a * N + where[a * C + c]) * C + c, dtype), dx.accumulate};
        copy(cpu::at(dy.raw(), a * C + c, dy.dtype()), 1.0f, out, 1);
      }
    }
  });
}

}  // namespace attend
