// Stochastic depth: dropout with one random number per item of the batch.
#include "attend/ops/drop_path.h"

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

Tensor drop_path(const Tensor& x, float rate) {
  check_floats("drop_path", {x});
  check_contiguous("drop_path", {x});
  Dropout dropout = x.pass() ? x.pass()->dropout(rate) : Dropout{};
  if (dropout.rate == 0 || x.size() == 0) return x;
  // All elements of an item share one random number.
  dropout.group = x.size() / x.dim(0);
  const Tensor y = like(x);
  x.backend().dropout(x, dropout, {y});
  return record(y, {x}, [to = Target(x), dropout](const Tensor& dy, Grads& grad) {
    if (Grad dx = grad(to)) dy.backend().dropout(dy, dropout, dx);
  });
}

}  // namespace attend::ops
