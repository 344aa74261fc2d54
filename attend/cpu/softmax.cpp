// Softmax over the last axis, and its gradient.
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

void CpuBackend::softmax(const Tensor& x, const Tensor& lengths, const Tensor& y) {
  const std::int64_t rows = x.rows(), width = x.width();
  const std::int32_t* length = lengths.defined() ? lengths.data<std::int32_t>() : nullptr;
  const std::int64_t group = length ? std::max<std::int64_t>(1, rows / std::max<std::int64_t>(1, lengths.size())) : 1;
  cpu::for_rows(pool(), rows, 4 * width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t seen = length ? std::clamp<std::int64_t>(length[row / group], 0, width) : width;
      rows_.softmax[cpu::kind_of(x)](cpu::at(x.raw(), row * width, x.dtype()), cpu::at(y.raw(), row * width, y.dtype()),
                                     seen, width);
    }
  });
}

void CpuBackend::softmax_backward(const Tensor& dy, const Tensor& y, const Grad& dx) {
  if (!dx) return;
  const std::int64_t rows = y.rows(), width = y.width();
  cpu::for_rows(pool(), rows, 2 * width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      cpu::Out out{cpu::at(dx.into.raw(), row * width, dx.into.dtype()), dx.accumulate};
      rows_.softmax_backward[cpu::kind_of(y)](cpu::at(dy.raw(), row * width, dy.dtype()),
                                              cpu::at(y.raw(), row * width, y.dtype()), out, width);
    }
  });
}

}  // namespace attend
