// The learned token in front of the patches (Devlin et al. 2019; Dosovitskiy et al. 2020): ViT, DeiT and MViT share it.
#pragma once

#include "attend/nn/parameter.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"
#include "attend/tensor/backend.h"

namespace attend::models {

// Repeats a learned token [1, 1, C] for every image: [B, 1, C]. As an embedding its gradient is the sum over the batch.
inline Tensor repeated(const nn::Parameter& token, const Tensor& patches) {
  const Tensor zeros = like(patches, {patches.dim(0), 1}, DType::i32);
  patches.backend().fill(zeros, 0);
  return ops::embedding(zeros, token.value.reshape({1, patches.width()}));
}

// The state of token i of every image, [B, C].
inline Tensor token_state(const Tensor& states, std::int64_t i) {
  return ops::slice(states, 1, i, 1).reshape({states.dim(0), states.width()});
}

}  // namespace attend::models
