// Sum, mean and maximum over one axis.
#pragma once

#include "attend/tensor/tensor.h"

namespace attend::ops {

// x [.., N, ..] -> [.., ..] without that axis (a full reduction of a vector gives [1]).
Tensor sum(const Tensor& x, int axis);
Tensor mean(const Tensor& x, int axis);

struct Maximum {
  Tensor value;
  Tensor index;  // i32: the first place where it stands
};
Maximum max(const Tensor& x, int axis);

}  // namespace attend::ops
