// Spectral norm of a weight (Miyato et al. 2018): W / σ, where σ, the largest factor by which W stretches a vector, is
// followed by one power iteration a step.
#pragma once

#include "attend/tensor/tensor.h"

namespace attend::ops {

// f32, buffers of a model: what W stretches most, v [rest], and where it goes, u [out].
struct SpectralVectors {
  Tensor u, v;
};

// W / σ with W = weight [out, ..] as [out, rest] and σ = uᵀ W v, in x's pass. In a pass that records, v = Wᵀu and
// u = W v first, each made a unit vector, and put where they came from; in any other they stay. They are constants on
// the way back.
Tensor spectral_norm(const Tensor& x, const Tensor& weight, const SpectralVectors& vectors);

}  // namespace attend::ops
