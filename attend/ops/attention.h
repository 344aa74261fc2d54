// Scaled dot-product attention for all heads at once (Vaswani et al. 2017, section 3.2), without ever storing the
// T x S weights (Dao et al. 2022). When the pass has a probe, the weights are computed besides and shown to it.
#pragma once

#include <cstdint>
#include <string_view>

#include "attend/tensor/attention_mask.h"
#include "attend/tensor/tensor.h"

namespace attend::ops {

struct AttentionOptions {
  std::int64_t heads = 1;
  float scale = 0;              // 0: 1 / sqrt(D)
  AttentionMask mask = {};      // attention_mask.h says who may look at whom
  float dropout = 0;            // of the weights
  std::string_view label = {};  // what the probe is told
  Tensor* weights = nullptr;    // where the weights go instead, if there is a probe
};

// softmax(q kᵀ / √D + mask) v.   q [B, T, H·D]   k, v [B, S, H·D], or packed [rows, H·D]   ->   like q
// k and v may both be a cache by heads, [B, 2·H, S, D] (backend.h).
// Head h is columns [h·D, (h + 1)·D): no permutation before or after. q, k, v may be windows of one projection.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options);

}  // namespace attend::ops
