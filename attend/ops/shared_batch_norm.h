// Batch norm with the statistics of all processes that train together (cross-GPU batch norm, Peng et al. 2018). N
// processes with one batch each compute the same as one process with all N batches.
#pragma once

#include "attend/tensor/backend.h"
#include "attend/tensor/pass.h"

namespace attend::ops {

// Like Backend::group_norm() of a batch norm that is not frozen, and its backward. All processes must have batches of
// the same shape. Returns the args for backward, whose running statistics are those of all batches.
GroupNorm shared_batch_norm(const GroupNorm& args, const Tensor& y, const Tensor& mean, const Tensor& rstd,
                            BatchSums& sums);
void shared_batch_norm_backward(const GroupNorm& args, const Tensor& y, const Tensor& dy, const Tensor& mean,
                                const Tensor& rstd, const Grad& dx, const Tensor& dsum, const Grad& dweight,
                                const Grad& dbias, BatchSums& sums);

}  // namespace attend::ops
