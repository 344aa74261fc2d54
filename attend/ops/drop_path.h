// Stochastic depth (Huang et al. 2016): what a sublayer adds is left out for some items of a batch as a whole.
#pragma once

#include "attend/tensor/tensor.h"

namespace attend::ops {

// x [B, ..]: each of the B items is zeroed with this probability, and the rest scaled by 1 / (1 - rate); x itself when
// the pass does not record.
Tensor drop_path(const Tensor& x, float rate);

}  // namespace attend::ops
