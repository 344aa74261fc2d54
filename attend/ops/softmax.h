// Softmax over the last axis, and the cross entropy of logits.
#pragma once

#include <cstdint>

#include "attend/tensor/tensor.h"

namespace attend::ops {

// softmax of x [.., S]. With lengths i32 [B], rows of entry b of x [B, .., S] use only the first lengths[b] entries;
// the others get weight 0.
Tensor softmax(const Tensor& x, const Tensor& lengths = {});

// log Σ exp(x) over the last axis, [.., V] -> f32 [rows]. Not differentiable.
Tensor log_sum_exp(const Tensor& x);

struct CrossEntropyOptions {
  float smoothing = 0;         // label smoothing (Szegedy et al. 2016): this mass is spread over all V classes
  std::int32_t ignore = -100;  // rows with this target are ignored
  // f32 [V]: the mean is Σ w[target] · loss / Σ w[target]. Not with smoothing, and not for ops that compute logits
  // themselves.
  Tensor class_weights = {};
};

struct Loss {
  Tensor mean;    // f32 [1], over the targets that are not ignored
  Tensor losses;  // f32 [rows], with weights applied; not differentiable
  Tensor total;   // f32 [2]: the mean, and the number (or total weight) of the targets
};

//   logits [.., V]   targets i32 [..]
Loss cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options = {});

}  // namespace attend::ops
