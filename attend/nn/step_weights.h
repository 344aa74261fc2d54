// What a pre-norm layer gives a step that is one kernel (tensor/causal_step.h).
#pragma once

#include "attend/nn/attention.h"
#include "attend/nn/feed_forward.h"
#include "attend/nn/layers.h"
#include "attend/tensor/causal_step.h"

namespace attend::nn {

// Without attention to a memory.
inline DecoderLayer step_weights(const LayerNorm& before_attention, const SelfAttention& attention,
                                 const LayerNorm& before_feed_forward, const FeedForward& feed_forward) {
  const ops::NormWeights norm1 = before_attention.weights(), norm2 = before_feed_forward.weights();
  const ops::Projection input = attention.input(), output = attention.output();
  const ops::Projection expand = feed_forward.expand(), contract = feed_forward.contract();
  return {.norm1_weight = norm1.weight,
          .norm1_bias = norm1.bias,
          .input_weight = input.weight,
          .input_bias = input.bias,
          .output_weight = output.weight,
          .output_bias = output.bias,
          .norm2_weight = norm2.weight,
          .norm2_bias = norm2.bias,
          .expand_weight = expand.weight,
          .expand_bias = expand.bias,
          .contract_weight = contract.weight,
          .contract_bias = contract.bias};
}

}  // namespace attend::nn
