// Distances between boxes (Carion et al. 2020, section 3.1). A box is centre x, centre y, width and height, as
// fractions of the image; all are f32.
#pragma once

#include "attend/tensor/tensor.h"

namespace attend::ops {

// For each pair {Σ |differences|, 1 - GIoU} (Rezatofighi et al. 2019).   boxes, others [.., 4]   ->   [.., 2]
Tensor box_distances(const Tensor& boxes, const Tensor& others);

// The total loss Σ weights · distances over all pairs, [2].   weights [.., 2], constant
Tensor box_losses(const Tensor& boxes, const Tensor& others, const Tensor& weights);

}  // namespace attend::ops
