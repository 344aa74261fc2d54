// y = activation(x Wᵀ + b): the linear projection of all models, and the matrix product.
//   x [.., I]   W [O, I]   b [O]   ->   y [.., O]
#pragma once

#include "attend/tensor/activation.h"
#include "attend/tensor/pass.h"
#include "attend/tensor/tensor.h"

namespace attend::ops {

struct LinearOptions {
  Activation activation = Activation::none;
  bool input_major = false;  // weight is [in, out], as GPT-2's files store it, instead of [out, in]
  Tensor residual = {};      // shaped like the result and added to it; before an activation on a CPU, when
                             // nothing is recorded, and without one else
};

//   x [.., I]   weight [O, I]   bias [O] or undefined   ->   [.., O]
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const LinearOptions& options = {});

// Parts of linear(), for ops that consist of projections. The forward part records nothing. It returns the result and,
// if `keep`, what the activation's backward reads: its input, or for relu its result.
struct Projected {
  Tensor y, kept;
};
Projected project(const Tensor& x, const Tensor& weight, const Tensor& bias, const LinearOptions& options, bool keep);
// Asks that the bias gradient come with dy (Grads::sums). y is the result; there must be no activation in between.
void ask_for_bias_gradient(const Tensor& y, const Tensor& bias, Activation activation);
// Backward: returns dy before the activation. It also writes the bias gradient, which came with dy or is summed here.
Tensor before_activation(const Tensor& dy, const Tensor& kept, Activation activation, const Target& bias, Grads& grad);
// Writes the gradients of x and of the weight.
void project_backward(const Tensor& dy, const Tensor& x, const Tensor& weight, bool input_major, Grads& grad);

struct MatmulOptions {
  bool transpose_a = false, transpose_b = false;
  float alpha = 1;
};

// alpha · op(a) op(b): [M, K] x [K, N], or with one leading batch axis on both.
Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options = {});

}  // namespace attend::ops
