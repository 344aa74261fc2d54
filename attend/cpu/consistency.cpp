// The divergence between two predictions (Liang et al. 2021), from logits read once per direction.
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

void CpuBackend::consistency(const Tensor& logits, const Tensor& moments, const Tensor& mean) {
  const std::int64_t count = logits.rows() / 2;
  cpu::ConsistencyRows rows;
  rows.logits = logits.raw();
  rows.width = logits.width(), rows.count = count;
  rows.moments = moments.data<float>();
  cpu::for_rows(pool(), count, 8 * rows.width, [&](std::int64_t begin, std::int64_t end) {
    rows_.consistency[cpu::kind_of(logits)](rows, begin, end);
  });
  double sum = 0;
  for (std::int64_t row = 0; row < count; ++row)
    sum += static_cast<double>(rows.moments[4 * row + 2]) - static_cast<double>(rows.moments[4 * row + 3]);
  mean.data<float>()[0] = static_cast<float>(sum / static_cast<double>(count));
}

void CpuBackend::consistency_backward(const Tensor& dmean, const Tensor& logits, const Tensor& moments,
                                      const Grad& dlogits) {
  stop_recording();
  if (!dlogits) return;
  const std::int64_t count = logits.rows() / 2;
  cpu::ConsistencyRows rows;
  rows.logits = logits.raw();
  rows.width = logits.width(), rows.count = count;
  rows.moments = moments.data<float>();
  rows.scale = dmean.data<float>()[0] / static_cast<float>(count);
  rows.dlogits = {dlogits.into.raw(), dlogits.accumulate};
  cpu::for_rows(pool(), count, 12 * rows.width, [&](std::int64_t begin, std::int64_t end) {
    rows_.consistency_backward[cpu::kind_of(logits)](rows, begin, end);
  });
}

}  // namespace attend
