// y = alpha·x between rows with gaps and between float formats: copying, casting, scaling and accumulating.
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

void CpuBackend::scale(const Tensor& x, float alpha, const Grad& y) {
  if (!y) return;
  const auto kernel = rows_.scale[cpu::kind_of(x)][cpu::kind_of(y.into)];
  const bool flat = x.contiguous() && y.into.contiguous();
  const std::int64_t rows = flat ? x.size() : x.rows(), width = flat ? 1 : x.width();
  const auto scale_rows = [=, x = cpu::View(x), into = cpu::View(y.into), add = y.accumulate](std::int64_t begin,
                                                                                              std::int64_t end) {
    if (flat)
      return kernel(cpu::at(x.data, begin, x.dtype), alpha, cpu::Out{cpu::at(into.data, begin, into.dtype), add},
                    end - begin);
    for (std::int64_t row = begin; row < end; ++row) kernel(x.at(row), alpha, cpu::Out{into.at(row), add}, width);
  };
  run(cpu::RowWork{rows, width, scale_rows});
}

void CpuBackend::scale_by(const Tensor& x, const Tensor& factor) {
  stop_recording();
  const float alpha = factor.data<float>()[0];
  if (alpha != 1) scale(x, alpha, {x});
}

}  // namespace attend
