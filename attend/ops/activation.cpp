// Activations and dropout.
#include "attend/ops/activation.h"

#include "attend/ops/checks.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

Tensor activation(const Tensor& x, Activation kind) {
  check_floats("activation", {x});
  check_contiguous("activation", {x});
  Tensor y = like(x);
  x.backend().activation(x, kind, y);
  // The input is kept, because most slopes cannot be computed from the result.
  return record(y, {x}, [x, kind](const Tensor& dy, Grads& grad) {
    if (Grad dx = grad(x)) dy.backend().activation_backward(dy, x, kind, dx, {});
  });
}

Tensor dropout(const Tensor& x, float rate) {
  check_floats("dropout", {x});
  check_contiguous("dropout", {x});
  const Dropout dropout = x.pass() ? x.pass()->dropout(rate) : Dropout{};
  if (dropout.rate == 0) return x;
  Tensor y = like(x);
  x.backend().dropout(x, dropout, {y});
  // The mask follows from the seed, so backward makes it again instead of keeping it.
  return record(y, {x}, [to = Target(x), dropout](const Tensor& dy, Grads& grad) {
    if (Grad dx = grad(to)) dy.backend().dropout(dy, dropout, dx);
  });
}

}  // namespace attend::ops
