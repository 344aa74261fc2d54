// Cross entropy with label smoothing (Szegedy et al. 2016, section 7) from logits, read once.
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

namespace {

cpu::CrossEntropyRows rows_of(const Tensor& logits, const Tensor& targets, const Tensor& class_weights, float smoothing,
                              std::int32_t ignore, const Tensor& lse) {
  cpu::CrossEntropyRows rows;
  rows.logits = logits.raw();
  rows.targets = targets.data<std::int32_t>();
  rows.width = logits.width();
  rows.class_weights = class_weights.defined() ? class_weights.data<float>() : nullptr;
  rows.smoothing = smoothing;
  rows.ignore = ignore;
  rows.lse = lse.data<float>();
  return rows;
}

}  // namespace

void CpuBackend::cross_entropy(const Tensor& logits, const Tensor& targets, const Tensor& class_weights,
                               float smoothing, std::int32_t ignore, const Tensor& losses, const Tensor& lse,
                               const Tensor& total) {
  cpu::CrossEntropyRows rows = rows_of(logits, targets, class_weights, smoothing, ignore, lse);
  rows.losses = losses.data<float>();
  cpu::for_rows(pool(), logits.rows(), 4 * rows.width, [&](std::int64_t begin, std::int64_t end) {
    rows_.cross_entropy[cpu::kind_of(logits)](rows, begin, end);
  });
  mean_loss(losses, targets, class_weights, ignore, total);
}

void CpuBackend::cross_entropy_backward(const Tensor& dloss, const Tensor& logits, const Tensor& targets,
                                        const Tensor& class_weights, float smoothing, std::int32_t ignore,
                                        const Tensor& lse, const Tensor& total, const Grad& dlogits) {
  stop_recording();
  if (!dlogits) return;
  const float counted = total.data<float>()[1];
  cpu::CrossEntropyRows rows = rows_of(logits, targets, class_weights, smoothing, ignore, lse);
  rows.scale = counted > 0 ? dloss.data<float>()[0] / counted : 0.0f;
  rows.dlogits = cpu::out_of(dlogits);
  cpu::for_rows(pool(), logits.rows(), 4 * rows.width, [&](std::int64_t begin, std::int64_t end) {
    rows_.cross_entropy_backward[cpu::kind_of(logits)](rows, begin, end);
  });
}

// Row by row, while it is in the cache.
void CpuBackend::cross_entropy_gradient(const Tensor& logits, const Tensor& targets, float smoothing,
                                        std::int32_t ignore, const Tensor& total, const Tensor& losses,
                                        const Tensor& lse) {
  stop_recording();
  const float counted = total.data<float>()[1];
  cpu::CrossEntropyRows rows = rows_of(logits, targets, {}, smoothing, ignore, lse);
  rows.losses = losses.data<float>();
  rows.scale = counted > 0 ? 1 / counted : 0.0f;
  rows.dlogits = cpu::out_of(Grad{logits});
  const auto kind = cpu::kind_of(logits);
  cpu::for_rows(pool(), logits.rows(), 8 * rows.width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      rows_.cross_entropy[kind](rows, row, row + 1);
      rows_.cross_entropy_backward[kind](rows, row, row + 1);
    }
  });
}

void CpuBackend::mean_loss(const Tensor& losses, const Tensor& targets, const Tensor& class_weights,
                           std::int32_t ignore, const Tensor& total) {
  stop_recording();
  const auto* wanted = targets.data<std::int32_t>();
  const auto* each = losses.defined() ? losses.data<float>() : nullptr;
  const auto* weights = class_weights.defined() ? class_weights.data<float>() : nullptr;
  double sum = 0, counted = 0;
  for (std::int64_t row = 0; row < targets.size(); ++row) {
    if (wanted[row] == ignore) continue;
    if (each) sum += static_cast<double>(each[row]);
    const bool weighed = weights && wanted[row] >= 0 && wanted[row] < class_weights.size();
    counted += weighed ? static_cast<double>(weights[wanted[row]]) : 1;
  }
  float* mean = total.data<float>();
  mean[0] = counted > 0 ? static_cast<float>(sum / counted) : 0.0f;
  mean[1] = static_cast<float>(counted);
}

}  // namespace attend
