// Softmax over the last axis, and the loss that ends in one.
#pragma once

#include <cstdint>

#include "attend/tensor/tensor.h"

namespace attend::ops {

// With lengths i32 [B], row r of x [B, .., S] sees only the first lengths[b] entries; the others get weight 0.
Tensor softmax(const Tensor& x, const Tensor& lengths = {});

// log Σ exp(x) over the last axis, f32 [rows]; not differentiable.
Tensor log_sum_exp(const Tensor& x);

struct CrossEntropyOptions {
  float smoothing = 0;         // label smoothing as in Szegedy et al. 2016: epsilon spread evenly over all V classes
  std::int32_t ignore = -100;  // targets that count for nothing
  // f32 [V]: the mean is Σ w[target] · loss / Σ w[target]; not with smoothing. Ops that make logits themselves take
  // none.
  Tensor class_weights = {};
};

struct Loss {
  Tensor mean;    // f32 [1], over the targets that count
  Tensor losses;  // f32 [rows], times their weights; not differentiable
  Tensor total;   // f32 [2]: the mean and how many targets counted, or their weights together
};

//   logits [.., V]   targets i32 [..]
Loss cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options = {});

}  // namespace attend::ops
