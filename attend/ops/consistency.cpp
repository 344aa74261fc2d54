#include "attend/ops/consistency.h"

#include "attend/base/error.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/layout.h"
#include "attend/ops/reduce.h"
#include "attend/ops/softmax.h"

namespace attend::ops {

Tensor consistency(const Tensor& logits) {
  check(logits.defined() && logits.rank() >= 1 && logits.rows() % 2 == 0 && logits.rows() > 0,
        "consistency: two predictions of each row are needed, so {} rows cannot be",
        logits.defined() ? logits.rows() : 0);
  const std::int64_t rows = logits.rows() / 2;
  const Tensor both = logits.flat_rows();
  // In f32 also when the model computes in bf16: the two hardly differ, and their difference is all that counts.
  const auto half = [&](std::int64_t first) { return cast(slice(both, 0, first, rows), DType::f32); };
  const Tensor a = half(0), b = half(rows);
  // Σ p (log p - log q) + Σ q (log q - log p) = Σ (p - q)(a - b): the normalising sums cancel, as Σ (p - q) is 0.
  const Tensor apart = add(softmax(a), scale(softmax(b), -1));
  const Tensor each = sum(multiply(apart, add(a, scale(b, -1))), -1);  // [N]
  return mean(each, 0);
}

}  // namespace attend::ops
