// The first part of a pre-norm sublayer (Xiong et al. 2020): the norm of the residual stream, the projection that reads
// it, and storing keys and values in a cache. For one row a device may do all of it in one kernel.
#pragma once

#include "attend/tensor/activation.h"
#include "attend/tensor/tensor.h"

namespace attend::ops {

struct NormLinearOptions {
  Activation activation = Activation::none;
  bool input_major = false;  // as in linear()
  // The last D columns of every row are not returned but stored in a row of the cache [rows, D]. slots (i32, one per
  // row) names that row. A cache by heads is [R, G, N, D / G] (Backend::put_rows). Not differentiable.
  Tensor cache = {}, slots = {};
};

struct NormWeights {
  Tensor weight, bias;
  float eps = 1e-5f;
};

// activation(layer_norm(x) Wᵀ + b).   x [.., I]   weight [O, I]   bias [O]   ->   [.., O], or [.., O - D]
Tensor norm_linear(const Tensor& x, const NormWeights& norm, const Tensor& weight, const Tensor& bias,
                   const NormLinearOptions& options = {});

}  // namespace attend::ops
