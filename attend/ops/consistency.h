// The divergence of two predictions of the same rows. R-Drop (Liang et al. 2021) keeps it small between two passes that
// differ only in dropout.
#pragma once

#include "attend/tensor/tensor.h"

namespace attend::ops {

// The mean over rows of KL(p, q) + KL(q, p), where p and q are the softmax of the first and of the second half of
// logits [2·N, V].   ->   f32 [1]
Tensor consistency(const Tensor& logits);

}  // namespace attend::ops
