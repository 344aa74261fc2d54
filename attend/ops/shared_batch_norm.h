// Batch norm with the statistics of all processes that train together (cross-GPU batch norm, Peng et al. 2018). N
// processes with one batch each compute the same as one process with all N batches.
#pragma once

#include "attend/ops/image_norm.h"
#include "attend/tensor/pass.h"

namespace attend::ops {

// Like batch_norm() without `frozen`. All processes must have batches of the same shape.
Tensor shared_batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const RunningStatistics& running,
                         const BatchNormOptions& options, BatchSums& sums);

}  // namespace attend::ops
