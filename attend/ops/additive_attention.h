// Additive attention (Bahdanau, Cho & Bengio 2015, appendix A.1.2): a small network scores how well each encoder state
// fits the decoder's state.
#pragma once

#include "attend/tensor/tensor.h"

namespace attend::ops {

// scores[b, t, s] = v · tanh(q[b, t] + k[b, s]).   q [B, T, C]   k [B, S, C]   v [C]   ->   [B, T, S]
Tensor additive_scores(const Tensor& q, const Tensor& k, const Tensor& v);

}  // namespace attend::ops
