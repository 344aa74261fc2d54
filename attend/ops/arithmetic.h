// Sums, products and multiples of tensors. b has a's shape, or the last axes of it, and then repeats over the leading
// axes.
#pragma once

#include "attend/tensor/tensor.h"

namespace attend::ops {

Tensor add(const Tensor& a, const Tensor& b);
Tensor multiply(const Tensor& a, const Tensor& b);
Tensor scale(const Tensor& x, float alpha);
// Converts x to another float format.
Tensor cast(const Tensor& x, DType dtype);

}  // namespace attend::ops
