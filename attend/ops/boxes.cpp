// Distances and losses of boxes.
#include "attend/ops/boxes.h"

#include "attend/base/error.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/checks.h"
#include "attend/ops/reduce.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

Tensor box_distances(const Tensor& boxes, const Tensor& others) {
  check_floats("box_distances", {boxes, others});
  check_contiguous("box_distances", {boxes, others});
  check(boxes.dtype() == DType::f32, "box_distances: boxes are {}; they must be f32", boxes.dtype());
  check(boxes.rank() >= 1 && boxes.dim(-1) == 4 && others.defined() && others.shape() == boxes.shape(),
        "box_distances: boxes are {} and others {}; both must be [.., 4], and the same", boxes.shape(),
        others.defined() ? others.shape() : Shape{});
  const Tensor distances = like(lead({&boxes, &others}), boxes.shape().with_last(2));
  boxes.backend().box_distances(boxes, others, distances);
  return record(distances, {boxes, others}, [boxes, others](const Tensor& d, Grads& grad) {
    // Both distances are symmetric, so one kernel computes either gradient.
    d.backend().box_distances_backward(d, boxes, others, grad(boxes));
    d.backend().box_distances_backward(d, others, boxes, grad(others));
  });
}

Tensor box_losses(const Tensor& boxes, const Tensor& others, const Tensor& weights) {
  const Tensor distances = box_distances(boxes, others);
  check(weights.defined() && weights.shape() == distances.shape(),
        "box_losses: boxes are {}, so weights must be {}, not {}", boxes.shape(), distances.shape(),
        weights.defined() ? weights.shape() : Shape{});
  return sum(multiply(distances, weights).flat_rows(), 0);  // [2]
}

}  // namespace attend::ops
