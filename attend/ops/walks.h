// Tensors as walks (offset and strides) for Backend::strided_copy.
#pragma once

#include "attend/tensor/backend.h"

namespace attend::ops {

// The strides of a tensor's axes, in elements; rows may have gaps between them.
inline Walk walk(const Tensor& x) {
  Walk walk{x, x.window().offset, {}};
  std::int64_t stride = 1;
  for (int i = x.rank() - 1; i >= 0; --i) {
    walk.strides[i] = stride;
    stride = i == x.rank() - 1 ? x.row_stride() : stride * x.dim(i);
  }
  return walk;
}

// The same walk, started `steps` entries further along an axis.
inline Walk advanced(Walk walk, int axis, std::int64_t steps) {
  walk.offset += steps * walk.strides[axis];
  return walk;
}

}  // namespace attend::ops
