// Softmax, log-sum-exp and cross entropy.
#include "attend/ops/softmax.h"

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

void check_class_weights(const Tensor& logits, const CrossEntropyOptions& options) {
  const Tensor& weights = options.class_weights;
  if (!weights.defined()) return;
  check(weights.dtype() == DType::f32 && weights.shape() == Shape{logits.width()},
        "cross_entropy: logits are {}, so class weights must be f32 [{}], not {} {}", logits.shape(), logits.width(),
        weights.dtype(), weights.shape());
  check(&weights.backend() == &logits.backend(), "cross_entropy: class weights are on {}, but logits on {}",
        weights.backend().name(), logits.backend().name());
  check(options.smoothing == 0, "cross_entropy: class weights and a smoothing of {}", options.smoothing);
}

}  // namespace

Tensor softmax(const Tensor& x, const Tensor& lengths) {
  check_floats("softmax", {x});
  check_contiguous("softmax", {x, lengths});
  if (lengths.defined()) {
    check_ints("softmax", lengths, x);
    check(lengths.rank() == 1 && x.rank() >= 2 && lengths.dim(0) == x.dim(0),
          "softmax: x is {}, so lengths must have one entry a sequence, not {}", x.shape(), lengths.shape());
  }
  Tensor y = like(x);
  x.backend().softmax(x, lengths, y);
  // dx = y · (dy - Σ y dy)
  return record(y, {x}, [x, y](const Tensor& dy, Grads& grad) {
    if (Grad dx = grad(x)) dy.backend().softmax_backward(dy, y, dx);
  });
}

Tensor log_sum_exp(const Tensor& x) {
  check_floats("log_sum_exp", {x});
  check_contiguous("log_sum_exp", {x});
  Tensor sums = like(x, {x.rows()}, DType::f32), losses = like(sums), total = like(sums, {2}),
         targets = like(x, {x.rows()}, DType::i32);
  x.backend().fill(targets, 0);
  // Cross entropy computes these sums anyway; its losses are not used.
  x.backend().cross_entropy(x, targets, {}, 0, -1, losses, sums, total);
  return sums;
}

Loss cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  check_floats("cross_entropy", {logits});
  check_ints("cross_entropy", targets, logits);
  check_contiguous("cross_entropy", {logits, targets});
  check(logits.rank() >= 1 && targets.size() == logits.rows(),
        "cross_entropy: logits are {}, so there must be {} targets, not {}", logits.shape(), logits.rows(),
        targets.shape());
  check(options.smoothing >= 0 && options.smoothing < 1, "cross_entropy: smoothing must be in [0, 1), not {}",
        options.smoothing);
  check_class_weights(logits, options);

  Tensor losses = like(logits, {logits.rows()}, DType::f32), lse = like(losses), total = like(losses, {2}, DType::f32);
  Backend& backend = logits.backend();
  backend.cross_entropy(logits, targets, options.class_weights, options.smoothing, options.ignore, losses, lse, total);
  Tensor mean = like(losses, {1});
  backend.scale(total.slice_first(0, 1), 1, {mean});
  record(mean, {logits}, [logits, targets, options, lse, total](const Tensor& dloss, Grads& grad) {
    if (!grad.wants(logits)) return;
    // The logits are the largest tensor of a language model. If nothing else reads them, their gradient overwrites
    // them.
    const bool in_place = logits.storage()->strong.load() == 1 && !logits.storage()->parent &&
                          !logits.storage()->gradient && !logits.storage()->keeps_gradient;
    const Grad into = in_place ? Grad{logits} : grad(logits);
    dloss.backend().cross_entropy_backward(dloss, logits, targets, options.class_weights, options.smoothing,
                                           options.ignore, lse, total, into);
    if (in_place) grad.give(logits, logits);
  });
  return {mean, losses, total};
}

}  // namespace attend::ops
