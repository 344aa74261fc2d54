// The symmetric divergence of R-Drop. Four numbers per pair of rows, [N, 4], are kept for backward.
#include "attend/ops/consistency.h"

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

Tensor consistency(const Tensor& logits) {
  check_floats("consistency", {logits});
  check_contiguous("consistency", {logits});
  check(logits.rows() % 2 == 0 && logits.size() > 0,
        "consistency: two predictions of each row are needed, so logits cannot be {}", logits.shape());
  const Tensor moments = like(logits, {logits.rows() / 2, 4}, DType::f32), mean = like(logits, {1}, DType::f32);
  logits.backend().consistency(logits, moments, mean);
  return record(mean, {logits}, [logits, moments](const Tensor& dmean, Grads& grad) {
    if (Grad dlogits = grad(logits)) dmean.backend().consistency_backward(dmean, logits, moments, dlogits);
  });
}

}  // namespace attend::ops
