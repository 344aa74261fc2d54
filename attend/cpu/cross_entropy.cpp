// Cross entropy with label smoothing (Szegedy et al. 2016, section 7) from logits, read once.
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

void CpuBackend::cross_entropy(const Tensor& logits, const Tensor& targets, float smoothing, std::int32_t ignore,
                               const Tensor& losses, const Tensor& lse, const Tensor& total) {
  cpu::CrossEntropyRows rows;
  rows.logits = logits.raw();
  rows.targets = targets.data<std::int32_t>();
  rows.width = logits.width();
  rows.smoothing = smoothing;
  rows.ignore = ignore;
  rows.lse = lse.data<float>();
  rows.losses = losses.data<float>();
  cpu::for_rows(pool_, logits.rows(), 4 * rows.width, [&](std::int64_t begin, std::int64_t end) {
    rows_.cross_entropy[cpu::kind_of(logits)](rows, begin, end);
  });
  double sum = 0;
  std::int64_t counted = 0;
  for (std::int64_t row = 0; row < logits.rows(); ++row) {
    if (rows.targets[row] == ignore) continue;
    sum += static_cast<double>(rows.losses[row]);
    ++counted;
  }
  float* mean = total.data<float>();
  mean[0] = counted > 0 ? static_cast<float>(sum / static_cast<double>(counted)) : 0.0f;
  mean[1] = static_cast<float>(counted);
}

void CpuBackend::cross_entropy_backward(const Tensor& dloss, const Tensor& logits, const Tensor& targets,
                                        float smoothing, std::int32_t ignore, const Tensor& lse, const Tensor& total,
                                        const Grad& dlogits) {
  if (!dlogits) return;
  const float counted = total.data<float>()[1];
  cpu::CrossEntropyRows rows;
  rows.logits = logits.raw();
  rows.targets = targets.data<std::int32_t>();
  rows.width = logits.width();
  rows.smoothing = smoothing;
  rows.ignore = ignore;
  rows.lse = lse.data<float>();
  rows.scale = counted > 0 ? dloss.data<float>()[0] / counted : 0.0f;
  rows.dlogits = cpu::out_of(dlogits);
  cpu::for_rows(pool_, logits.rows(), 4 * rows.width, [&](std::int64_t begin, std::int64_t end) {
    rows_.cross_entropy_backward[cpu::kind_of(logits)](rows, begin, end);
  });
}

}  // namespace attend
