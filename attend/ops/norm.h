// Layer normalisation (Ba et al. 2016), alone and with the residual sum before it: the "Add & Norm" box in figure 1 of
// Vaswani et al. 2017.
#pragma once

#include "attend/tensor/tensor.h"

namespace attend::ops {

// y = (x - mean) / sqrt(var + eps) · weight + bias, over the last axis.   x [.., C]   weight, bias [C]
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps = 1e-5f);

struct Summed {
  Tensor sum;   // x + dropped(branch): the residual stream of pre-norm models
  Tensor norm;  // layer_norm(sum)
};

struct AddNormOptions {
  float eps = 1e-5f;
  // How the branch is dropped, at most one of the two:
  float dropout = 0;    // rate for its elements (Vaswani et al. 2017, section 5.4)
  float drop_path = 0;  // rate for the items of the batch, x.dim(0) of them (Huang et al. 2016)
};

// sum = x + dropped(branch) and norm = layer_norm(sum), from one kernel.   x, branch [.., C]   weight, bias [C]
Summed add_norm(const Tensor& x, const Tensor& branch, const Tensor& weight, const Tensor& bias,
                const AddNormOptions& options = {});

}  // namespace attend::ops
