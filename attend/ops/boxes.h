// How far boxes are from where they should be (Carion et al. 2020, section 3.1). A box is centre x, centre y, width,
// height, in parts of the image; all f32.
#pragma once

#include "attend/tensor/tensor.h"

namespace attend::ops {

// Of each pair, {Σ |differences|, 1 - GIoU}.   boxes, others [.., 4]   ->   [.., 2]
Tensor box_distances(const Tensor& boxes, const Tensor& others);

// What they cost together: Σ weights · distances over all pairs, [2].   weights [.., 2], constant
Tensor box_losses(const Tensor& boxes, const Tensor& others, const Tensor& weights);

}  // namespace attend::ops
