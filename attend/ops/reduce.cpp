// Reductions over one axis. The kernel sees x as [before, N, after].
#include "attend/ops/reduce.h"

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

Maximum reduce(const char* op, Reduction kind, const Tensor& x, int axis) {
  check_floats(op, {x});
  check_contiguous(op, {x});
  const int at = check_axis(op, x, axis);
  std::int64_t before = 1, after = 1;
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == at) continue;
    (i < at ? before : after) *= x.dim(i);
    shape.append(x.dim(i));
  }
  // Reducing a vector gives [1].
  if (shape.rank() == 0) shape.append(1);
  check(x.dim(at) > 0 || kind == Reduction::sum, "{}: axis {} of {} is empty", op, axis, x.shape());

  const Shape folded{before, x.dim(at), after}, rest{before, after};
  Tensor y = like(x, shape), index = kind == Reduction::max ? like(x, shape, DType::i32) : Tensor();
  x.backend().reduce(kind, x.reshape(folded), {y.reshape(rest)}, index.defined() ? index.reshape(rest) : index);
  record(y, {x}, [to = Target(x), kind, index, folded, rest](const Tensor& dy, Grads& grad) {
    if (Grad dx = grad(to))
      dy.backend().reduce_backward(kind, dy.reshape(rest), index.defined() ? index.reshape(rest) : index,
                                   {dx.into.reshape(folded), dx.accumulate});
  });
  return {y, index};
}

}  // namespace

Tensor sum(const Tensor& x, int axis) { return reduce("sum", Reduction::sum, x, axis).value; }
Tensor mean(const Tensor& x, int axis) { return reduce("mean", Reduction::mean, x, axis).value; }
Maximum max(const Tensor& x, int axis) { return reduce("max", Reduction::max, x, axis); }

}  // namespace attend::ops
