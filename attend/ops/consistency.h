// How far two predictions of the same thing are apart: what R-Drop (Liang et al. 2021) keeps small between two passes
// that differ only in what dropout hit.
#pragma once

#include "attend/tensor/tensor.h"

namespace attend::ops {

// The mean over rows of KL(p, q) + KL(q, p), where p and q are the softmax of the first and the second half of the rows
// of logits [2·N, V].   ->   f32 [1]
Tensor consistency(const Tensor& logits);

}  // namespace attend::ops
