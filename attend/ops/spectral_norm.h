// Spectral normalisation of a weight (Miyato et al. 2018, section 2.1): W / σ, where σ is the largest singular value.
// One power iteration per training step estimates it.
#pragma once

#include "attend/tensor/tensor.h"

namespace attend::ops {

// Buffers of a model, f32: estimates of the singular vectors, v [rest] on the input side and u [out] on the output
// side.
struct SpectralVectors {
  Tensor u, v;
};

// W / σ, where W is weight [out, ..] viewed as [out, rest] and σ = uᵀ W v, in x's pass. A recording pass first updates
// v = Wᵀu and u = W v, each scaled to length 1. Other passes leave them unchanged. Backward treats them as constants.
Tensor spectral_norm(const Tensor& x, const Tensor& weight, const SpectralVectors& vectors);

}  // namespace attend::ops
