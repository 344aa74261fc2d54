// Stochastic depth (Huang et al. 2016): the result of a sublayer is dropped for some items of a batch as a whole.
#pragma once

#include "attend/tensor/tensor.h"

namespace attend::ops {

// x is [B, ..]. Each of the B items is zeroed with this probability, and the rest scaled by 1 / (1 - rate). Returns x
// itself if the pass does not record.
Tensor drop_path(const Tensor& x, float rate);

}  // namespace attend::ops
