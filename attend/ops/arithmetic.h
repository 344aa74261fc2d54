// Sums, products and multiples. b has a's shape, or is a suffix of it and repeats over the leading axes.
#pragma once

#include "attend/tensor/tensor.h"

namespace attend::ops {

Tensor add(const Tensor& a, const Tensor& b);
Tensor multiply(const Tensor& a, const Tensor& b);
Tensor scale(const Tensor& x, float alpha);
// The same numbers in another float format.
Tensor cast(const Tensor& x, DType dtype);

}  // namespace attend::ops
