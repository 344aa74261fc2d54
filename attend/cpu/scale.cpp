// y = alpha·x between rows with gaps and between float formats: copying, casting, scaling and accumulating.
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

void CpuBackend::scale(const Tensor& x, float alpha, const Grad& y) {
  if (!y) return;
  const auto kernel = rows_.scale[cpu::kind_of(x)][cpu::kind_of(y.into)];
  const bool flat = x.contiguous() && y.into.contiguous();
  const std::int64_t rows = flat ? x.size() : x.rows(), width = flat ? 1 : x.width();
  const std::int64_t x_stride = flat ? 1 : x.row_stride(), y_stride = flat ? 1 : y.into.row_stride();
  cpu::for_rows(pool_, rows, width, [&](std::int64_t begin, std::int64_t end) {
    const auto run = [&](std::int64_t row, std::int64_t n) {
      cpu::Out out{cpu::at(y.into.raw(), row * y_stride, y.into.dtype()), y.accumulate};
      kernel(cpu::at(x.raw(), row * x_stride, x.dtype()), alpha, out, n);
    };
    if (flat) return run(begin, end - begin);
    for (std::int64_t row = begin; row < end; ++row) run(row, width);
  });
}

void CpuBackend::scale_by(const Tensor& x, const Tensor& factor) {
  const float alpha = factor.data<float>()[0];
  if (alpha != 1) scale(x, alpha, {x});
}

}  // namespace attend
