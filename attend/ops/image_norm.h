// Batch norm (Ioffe & Szegedy 2015) and group norm (Wu & He 2018) for [B, .., C], channels last.
#pragma once

#include <cstdint>

#include "attend/tensor/activation.h"
#include "attend/tensor/tensor.h"

namespace attend::ops {

struct BatchNormOptions {
  float eps = 1e-5f;
  float momentum = 0.1f;  // how far the running statistics move towards the batch's
  // Uses the running statistics and leaves them unchanged: for inference, or for a frozen model.
  bool frozen = false;
};

// Buffers of a model, f32 [C] each. The variance is unbiased.
struct RunningStatistics {
  Tensor mean, variance;
};

// y = activation((x - mean) / sqrt(var + eps) · weight + bias + residual), with mean and variance of each channel over
// all other axes. The residual is as x, or undefined. It also updates the running statistics, which may be undefined.
// A recomputed piece of a model does not update them again. The sum and a relu cost no pass over memory of their own.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const RunningStatistics& running,
                  const BatchNormOptions& options = {}, Activation activation = Activation::none,
                  const Tensor& residual = {});

// The norm over each group of C / groups channels of each image; C groups are instance norm. weight and bias may be
// undefined.
Tensor group_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t groups, float eps = 1e-5f);

}  // namespace attend::ops
