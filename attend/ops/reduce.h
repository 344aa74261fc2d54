// Sum, mean and maximum over one axis of a tensor.
#pragma once

#include "attend/tensor/tensor.h"

namespace attend::ops {

// x [.., N, ..] -> [.., ..] without that axis. Reducing a vector gives [1].
Tensor sum(const Tensor& x, int axis);
Tensor mean(const Tensor& x, int axis);

struct Maximum {
  Tensor value;
  Tensor index;  // i32: index of its first occurrence
};
Maximum max(const Tensor& x, int axis);

}  // namespace attend::ops
