// Scaled dot-product attention for all heads at once (Vaswani et al. 2017, section 3.2.1). The T x S weights are never
// stored (FlashAttention, Dao et al. 2022). If the pass has a probe, the weights are computed once more for it.
#pragma once

#include <cstdint>
#include <string_view>

#include "attend/tensor/attention_mask.h"
#include "attend/tensor/tensor.h"

namespace attend::ops {

struct AttentionOptions {
  std::int64_t heads = 1;
  float scale = 0;              // 0 means 1 / sqrt(D)
  AttentionMask mask = {};      // which queries attend to which keys (attention_mask.h)
  float dropout = 0;            // rate for the weights
  std::string_view label = {};  // the label for the probe
  Tensor* weights = nullptr;    // receives the weights instead of the probe, if there is one
};

// softmax(q kᵀ / √D + mask) v.   q [B, T, H·D]   k, v [B, S, H·D], or packed [rows, H·D]   ->   like q
// k and v may both be a cache by heads, [B, 2·H, S, D] (backend.h), or [1, 2·H, S, D] that all sequences read. Head h
// is columns [h·D, (h + 1)·D), so nothing is permuted before or after. q, k and v may be views of one projection.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options);

}  // namespace attend::ops
