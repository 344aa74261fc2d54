// y = activation(x Wᵀ + b): the projection under every box of the papers.
#pragma once

#include "attend/tensor/activation.h"
#include "attend/tensor/pass.h"
#include "attend/tensor/tensor.h"

namespace attend::ops {

struct LinearOptions {
  Activation activation = Activation::none;
  bool input_major = false;  // weight is [in, out], as GPT-2's files store it, instead of [out, in]
  Tensor residual = {};      // like the result, and added to it; not with an activation
};

//   x [.., I]   weight [O, I]   bias [O] or undefined   ->   [.., O]
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const LinearOptions& options = {});

// The parts of it, for ops made of projections. Forward, nothing recorded: the result, and what the activation's
// backward reads (what went into it; relu: what came out) if keep.
struct Projected {
  Tensor y, kept;
};
Projected project(const Tensor& x, const Tensor& weight, const Tensor& bias, const LinearOptions& options, bool keep);
// y being the result: the bias gradient may come with dy (Grads::sums), when nothing lies between.
void ask_for_bias_gradient(const Tensor& y, const Tensor& bias, Activation activation);
// Backward: dy before the activation, and the bias gradient: what came with dy, or else summed on the way.
Tensor before_activation(const Tensor& dy, const Tensor& kept, Activation activation, const Target& bias, Grads& grad);
// The gradients of x and of the weight.
void project_backward(const Tensor& dy, const Tensor& x, const Tensor& weight, bool input_major, Grads& grad);

struct MatmulOptions {
  bool transpose_a = false, transpose_b = false;
  float alpha = 1;
};

// alpha · op(a) op(b): [M, K] x [K, N], or with one leading batch axis on both.
Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options = {});

}  // namespace attend::ops
