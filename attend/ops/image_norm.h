// Batch norm (Ioffe & Szegedy 2015) and group norm (Wu & He 2018) of [B, .., C], channels last.
#pragma once

#include <cstdint>

#include "attend/tensor/tensor.h"

namespace attend::ops {

struct BatchNormOptions {
  float eps = 1e-5f;
  float momentum = 0.1f;  // how far the running statistics move towards the batch's
  // Normalise by the running statistics, which then stay as they are: a model that is only run, or a frozen one.
  bool frozen = false;
};

// f32 [C] each: buffers of a model. The variance is the unbiased one.
struct RunningStatistics {
  Tensor mean, variance;
};

// y = (x - mean) / sqrt(var + eps) · weight + bias with the mean and variance of each channel over all else, and the
// running ones moved in passing (they may be undefined; not when a piece of the model is recomputed).
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const RunningStatistics& running,
                  const BatchNormOptions& options = {});

// The same over each group of C / groups channels of each image; C groups are instance norm. weight and bias may be
// undefined.
Tensor group_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t groups, float eps = 1e-5f);

}  // namespace attend::ops
