// Batch norm with the statistics of the batches of all processes that train together (Peng et al. 2018 call it
// cross-GPU batch norm): N processes with a batch each do what one does with all of them in one batch.
#pragma once

#include "attend/ops/image_norm.h"
#include "attend/tensor/pass.h"

namespace attend::ops {

// As batch_norm(), not frozen. All processes have batches of the same shape.
Tensor shared_batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const RunningStatistics& running,
                         const BatchNormOptions& options, BatchSums& sums);

}  // namespace attend::ops
