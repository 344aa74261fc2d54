// The linear projection with 8-bit products, forward and backward.
#include "attend/ops/linear_fp8.h"

#include "attend/ops/checks.h"
#include "attend/tensor/products8.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

// A tensor in 8 bits and its transpose: forward and backward sum over different axes.
struct Cast8 {
  Tensor rows, columns;  // [M, N] and [N, M]

  // Allocates in the pass of `beside`.
  Cast8(const Tensor& x, const Units8& units, const Tensor& beside)
      : rows(like(beside, {x.rows(), x.width()}, DType::u8)), columns(like(beside, {x.width(), x.rows()}, DType::u8)) {
    x.backend().cast8(x.flat_rows(), units, rows, columns);
  }
};

// a bᵀ. The axis that is summed is the last of both, as 8-bit kernels require.
MatMul product8(const Tensor& a, const Units8& a8, const Tensor& b, const Units8& b8) {
  return {.a = a, .b = b, .transpose_b = true, .a8 = a8, .b8 = b8};
}

}  // namespace

bool fits_linear_fp8(const Tensor& x, const Tensor& weight, const Tensor& bias, const LinearOptions& options) {
  return weight.storage()->products8 && x.dtype() == DType::bf16 && x.rows() > 0 && x.rows() % 16 == 0 &&
         !options.residual.defined() && recorded({x, weight, bias});
}

Tensor linear_fp8(const Tensor& x, const Tensor& weight, const Tensor& bias, const LinearOptions& options) {
  const auto products = weight.storage()->products8;
  const Activation activation = options.activation;
  const bool input_major = options.input_major;
  const bool keep = activation != Activation::none && activation != Activation::relu;
  Tensor y = like(x, x.shape().with_last(weight.dim(input_major ? 1 : 0)));
  const Tensor pre = keep ? like(y) : Tensor();
  const Cast8 x8(x, products->x, x), weight8(weight, products->weight, x);
  MatMul forward = product8(x8.rows, products->x, input_major ? weight8.columns : weight8.rows, products->weight);
  forward.bias = bias, forward.activation = activation;
  if (keep) forward.pre = pre.flat_rows();
  x.backend().matmul(forward, {y.flat_rows()});

  const Tensor kept = activation == Activation::relu ? y : pre, x_columns = x8.columns;
  const Tensor weight_back = input_major ? weight8.rows : weight8.columns;  // [in, out]
  ask_for_bias_gradient(y, bias, activation);
  // x itself is not kept for backward, only its transposed 8-bit copy.
  return record(y, {x, weight, bias},
                [to_x = Target(x), to_weight = Target(weight), to_bias = Target(bias), kept, x_columns, weight_back,
                 products, activation, input_major](const Tensor& dy, Grads& grad) {
                  Backend& backend = dy.backend();
                  const Tensor d = before_activation(dy, kept, activation, to_bias, grad);
                  const Cast8 d8(d, products->dy, d);
                  if (Grad dx = grad(to_x))
                    backend.matmul(product8(d8.rows, products->dy, weight_back, products->weight),
                                   {dx.into.flat_rows(), dx.accumulate});
                  if (Grad dweight = grad(to_weight))
                    backend.matmul(input_major ? product8(x_columns, products->x, d8.columns, products->dy)
                                               : product8(d8.columns, products->dy, x_columns, products->x),
                                   dweight);
                });
}

}  // namespace attend::ops
