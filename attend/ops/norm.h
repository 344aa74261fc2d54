// Layer normalisation (Ba et al. 2016), alone and with the residual sum before it: figure 1's "Add & Norm" box.
#pragma once

#include "attend/tensor/tensor.h"

namespace attend::ops {

// y = (x - mean) / sqrt(var + eps) · weight + bias, over the last axis.   x [.., C]   weight, bias [C]
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps = 1e-5f);

struct Summed {
  Tensor sum;   // x + dropout(branch): the residual stream of pre-norm models
  Tensor norm;  // layer_norm(sum)
};

struct AddNormOptions {
  float eps = 1e-5f;
  float dropout = 0;  // of the branch, as in section 5.4 of Vaswani et al. 2017
};

Summed add_norm(const Tensor& x, const Tensor& branch, const Tensor& weight, const Tensor& bias,
                const AddNormOptions& options = {});

}  // namespace attend::ops
