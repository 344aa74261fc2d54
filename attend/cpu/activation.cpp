// Activations, and their gradient fused with the sum over rows that is the bias gradient of a linear layer.
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

void CpuBackend::activation(const Tensor& x, Activation kind, const Tensor& y) {
  const std::int64_t work = kind == Activation::none || kind == Activation::relu ? 1 : 4;
  cpu::for_rows(pool(), x.size(), work, [&](std::int64_t begin, std::int64_t end) {
    rows_.activation[cpu::kind_of(x)](cpu::at(x.raw(), begin, x.dtype()), kind, cpu::at(y.raw(), begin, y.dtype()),
                                      end - begin);
  });
}

void CpuBackend::activation_backward(const Tensor& dy, const Tensor& x, Activation kind, const Grad& dx,
                                     const Grad& bias) {
  if (!dx && !bias) return;
  const std::int64_t rows = dy.rows(), width = dy.width();
  cpu::ActivationBackwardRows args;
  args.dy = dy.raw();
  args.x = cpu::raw_or_null(x);
  args.kind = kind;
  args.dx = cpu::out_of(dx);
  args.width = width;
  const cpu::Chunks chunks(rows, width);
  float* sums = bias ? scratch(std::max<std::int64_t>(1, chunks.count) * width) : nullptr;
  if (bias && chunks.count == 0) std::fill_n(sums, width, 0.0f);
  pool().for_each(chunks.count, [&](std::int64_t chunk) {
    float* mine = sums ? sums + chunk * width : nullptr;
    if (mine) std::fill_n(mine, width, 0.0f);
    rows_.activation_backward[cpu::kind_of(dy)](args, chunk * chunks.rows, std::min(rows, (chunk + 1) * chunks.rows),
                                                mine);
  });
  finish_columns(sums, std::max<std::int64_t>(1, chunks.count), width, bias);
}

}  // namespace attend
