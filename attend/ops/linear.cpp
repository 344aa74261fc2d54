// The linear projection and the matrix product, forward and backward.
#include "attend/ops/linear.h"

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/ops/linear_fp8.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const LinearOptions& options) {
  check_floats("linear", {x, weight, bias});
  const bool input_major = options.input_major;
  check(weight.rank() == 2 && x.rank() >= 1 && weight.dim(input_major ? 0 : 1) == x.dim(-1),
        "linear: x is {}, so weight must be {}, not {}", x.shape(), input_major ? "[in, out]" : "[out, in]",
        weight.shape());
  const std::int64_t out = weight.dim(input_major ? 1 : 0);
  check(!bias.defined() || bias.shape() == Shape{out}, "linear: weight is {}, so bias must be [{}], not {}",
        weight.shape(), out, bias.defined() ? bias.shape() : Shape{});
  const Tensor& residual = options.residual;
  check_floats("linear", {x, residual});
  check(!residual.defined() || residual.shape() == x.shape().with_last(out),
        "linear: the result is {}, so the residual must be, not {}", x.shape().with_last(out), residual.shape());
  check(!residual.defined() || options.activation == Activation::none ||
            (x.backend().on_host() && !recorded({x, weight, bias, residual})),
        "linear: a residual and an activation");
}

Projected forward(const Tensor& x, const Tensor& weight, const Tensor& bias, const LinearOptions& options, bool keep) {
  // relu's slope follows from its result; other activations need their input.
  const Activation activation = options.activation;
  const Tensor& residual = options.residual;
  const bool input_major = options.input_major;
  const bool apart = keep && activation != Activation::none && activation != Activation::relu;
  // Both y and pre are [.., O]; bias, activation and residual are part of the same kernel.
  const Tensor y = like(lead({&x, &weight}), x.shape().with_last(weight.dim(input_major ? 1 : 0))),
               pre = apart ? like(y) : Tensor();
  x.backend().matmul({.a = x.flat_rows(),
                      .b = weight,
                      .transpose_b = !input_major,
                      .bias = bias,
                      .activation = activation,
                      .pre = apart ? pre.flat_rows() : Tensor(),
                      .residual = residual.defined() ? residual.flat_rows() : Tensor(),
                      .settled_b = residual.defined() && !keep},
                     {y.flat_rows()});
  return {y, activation == Activation::relu ? y : pre};
}

}  // namespace

Projected project(const Tensor& x, const Tensor& weight, const Tensor& bias, const LinearOptions& options, bool keep) {
  check_linear(x, weight, bias, options);
  return forward(x, weight, bias, options, keep);
}

void ask_for_bias_gradient(const Tensor& y, const Tensor& bias, Activation activation) {
  if (activation == Activation::none && Grads::wants(bias)) Grads::ask_for_sums(y);
}

Tensor before_activation(const Tensor& dy, const Tensor& kept, Activation activation, const Target& bias, Grads& grad) {
  Backend& backend = dy.backend();
  if (activation != Activation::none) {
    const Tensor d = like(dy);
    backend.activation_backward(dy, kept, activation, {d}, grad(bias));
    return d;
  }
  // The kernel that made dy may have summed its columns already; otherwise they are summed here.
  if (const Tensor sums = Grads::sums_of(dy); sums.defined())
    grad.give(bias, sums);
  else if (const Grad dbias = grad(bias))
    backend.reduce(Reduction::sum, dy.reshape({1, dy.rows(), dy.width()}),
                   {dbias.into.reshape({1, dy.width()}), dbias.accumulate}, {});
  return dy;
}

void project_backward(const Tensor& dy, const Tensor& x, const Tensor& weight, bool input_major, Grads& grad) {
  Backend& backend = dy.backend();
  const Tensor rows = dy.flat_rows(), inputs = x.flat_rows();
  // dx = dy W: [rows, O] x [O, I] -> [rows, I]
  if (Grad dx = grad(x))
    backend.matmul({.a = rows, .b = weight, .transpose_b = input_major}, {dx.into.flat_rows(), dx.accumulate});
  // dW = dyᵀ x: [O, rows] x [rows, I] -> [O, I], or its transpose if the weight is input-major.
  if (Grad dweight = grad(weight)) {
    if (input_major)
      backend.matmul({.a = inputs, .b = rows, .transpose_a = true}, dweight);
    else
      backend.matmul({.a = rows, .b = inputs, .transpose_a = true}, dweight);
  }
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const LinearOptions& options) {
  check_linear(x, weight, bias, options);
  if (fits_linear_fp8(x, weight, bias, options)) return linear_fp8(x, weight, bias, options);
  const Activation activation = options.activation;
  const auto [y, kept] = forward(x, weight, bias, options, recorded({x, weight, bias}));
  ask_for_bias_gradient(y, bias, activation);
  return record(y, {x, weight, bias, options.residual},
                [x, weight, to_bias = Target(bias), to_residual = Target(options.residual), kept = kept, activation,
                 input_major = options.input_major](const Tensor& dy, Grads& grad) {
                  grad.give(to_residual, dy);
                  const Tensor d = before_activation(dy, kept, activation, to_bias, grad);
                  project_backward(d, x, weight, input_major, grad);
                });
}

Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  check_floats("matmul", {a, b});
  check(a.rank() == b.rank() && (a.rank() == 2 || a.rank() == 3),
        "matmul: a is {} and b is {}; both must have 2 or 3 axes", a.shape(), b.shape());
  check(a.rank() == 2 || a.dim(0) == b.dim(0), "matmul: a is {} and b is {}: the batches differ", a.shape(), b.shape());
  const std::int64_t m = a.dim(options.transpose_a ? -1 : -2), k = a.dim(options.transpose_a ? -2 : -1);
  const std::int64_t n = b.dim(options.transpose_b ? -2 : -1), inner = b.dim(options.transpose_b ? -1 : -2);
  check(k == inner, "matmul: op(a) is [{}, {}] and op(b) is [{}, {}]", m, k, inner, n);

  Shape shape = a.shape();
  shape.set(-2, m), shape.set(-1, n);
  Tensor c = like(lead({&a, &b}), shape);
  a.backend().matmul(
      {.a = a, .b = b, .transpose_a = options.transpose_a, .transpose_b = options.transpose_b, .alpha = options.alpha},
      {c});
  return record(c, {a, b}, [a, b, options](const Tensor& dc, Grads& grad) {
    const auto [ta, tb, alpha] = options;
    // c = op(a) op(b): d op(a) = dc op(b)ᵀ, d op(b) = op(a)ᵀ dc; a transposed operand wants the transposed product.
    if (Grad da = grad(a)) {
      const MatMul plain{.a = dc, .b = b, .transpose_b = !tb, .alpha = alpha};
      const MatMul flipped{.a = b, .b = dc, .transpose_a = tb, .transpose_b = true, .alpha = alpha};
      dc.backend().matmul(ta ? flipped : plain, da);
    }
    if (Grad db = grad(b)) {
      const MatMul plain{.a = a, .b = dc, .transpose_a = !ta, .alpha = alpha};
      const MatMul flipped{.a = dc, .b = a, .transpose_a = true, .transpose_b = ta, .alpha = alpha};
      dc.backend().matmul(tb ? flipped : plain, db);
    }
  });
}

}  // namespace attend::ops
