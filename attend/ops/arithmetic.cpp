// Sums, products, multiples and conversions. A repeated operand's gradient is summed over the axes it repeats along.
#include "attend/ops/arithmetic.h"

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/ops/gradient.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

void check_suffix(const char* op, const Tensor& a, const Tensor& b) {
  check_floats(op, {a, b});
  check_contiguous(op, {a, b});
  check(b.defined(), "{}: b is undefined", op);
  bool fits = b.rank() <= a.rank();
  for (int i = 1; fits && i <= b.rank(); ++i) fits = a.dim(-i) == b.dim(-i);
  check(fits, "{}: b is {}, which is neither the shape nor an ending of a's {}", op, b.shape(), a.shape());
}

// Sums d over the leading axes that b repeats along: [repeats, size] -> [size].
void sum_to(const Tensor& d, const Grad& db) {
  const std::int64_t size = db.into.size(), repeats = size ? d.size() / size : 0;
  d.backend().reduce(Reduction::sum, d.reshape(Shape{1, repeats, size}),
                     {db.into.reshape(Shape{1, size}), db.accumulate}, {});
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  check_suffix("add", a, b);
  Tensor y = like(lead({&a, &b}), a.shape());
  a.backend().add(a, b, y);
  return record(y, {a, b}, [to_a = Target(a), to_b = Target(b)](const Tensor& dy, Grads& grad) {
    // The gradient of a sum is dy itself, so it is handed on without a copy.
    grad.give(to_a, dy);
    if (to_a.shape() == to_b.shape())
      grad.give(to_b, dy);
    else if (Grad db = grad(to_b))
      sum_to(dy, db);
  });
}

Tensor multiply(const Tensor& a, const Tensor& b) {
  check_suffix("multiply", a, b);
  Tensor y = like(lead({&a, &b}), a.shape());
  a.backend().multiply(a, b, {y});
  return record(y, {a, b}, [a, b](const Tensor& dy, Grads& grad) {
    write_gradient(grad, a, dy, [&](const Grad& da) { dy.backend().multiply(dy, b, da); });
    if (Grad db = grad(b)) {
      if (a.shape() == b.shape() && db.into.dtype() == dy.dtype()) return dy.backend().multiply(dy, a, db);
      // A repeated b, or one with an f32 gradient, needs the product before the sum.
      Tensor product = like(dy);
      dy.backend().multiply(dy, a, {product});
      sum_to(product, db);
    }
  });
}

Tensor scale(const Tensor& x, float alpha) {
  check_floats("scale", {x});
  Tensor y = like(x);
  x.backend().scale(x, alpha, {y});
  return record(y, {x}, [to = Target(x), alpha](const Tensor& dy, Grads& grad) {
    if (Grad dx = grad(to)) dy.backend().scale(dy, alpha, dx);
  });
}

Tensor cast(const Tensor& x, DType dtype) {
  check_floats("cast", {x});
  check(is_float(dtype), "cast: to {} is not a float format", dtype);
  if (dtype == x.dtype()) return x;
  Tensor y = like(x, x.shape(), dtype);
  x.backend().scale(x, 1, {y});
  return record(y, {x}, [to = Target(x)](const Tensor& dy, Grads& grad) {
    if (Grad dx = grad(to)) dy.backend().scale(dy, 1, dx);
  });
}

}  // namespace attend::ops
