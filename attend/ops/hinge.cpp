// Hinge losses, composed of other ops: they are too small to need a kernel.
#include "attend/ops/hinge.h"

#include "attend/ops/activation.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/reduce.h"
#include "attend/tensor/backend.h"

namespace attend::ops {

namespace {

// mean relu(1 + sign · scores), [1]
Tensor hinge(const Tensor& scores, float sign) {
  const Tensor flat = scores.reshape({-1}), one = like(flat, {1});
  one.backend().fill(one, 1);
  return mean(relu(add(scale(flat, sign).reshape({-1, 1}), one)).reshape({-1}), 0);
}

}  // namespace

Tensor hinge_discriminator(const Tensor& real, const Tensor& fake) { return add(hinge(real, -1), hinge(fake, 1)); }

Tensor hinge_generator(const Tensor& fake) { return scale(mean(fake.reshape({-1}), 0), -1); }

}  // namespace attend::ops
