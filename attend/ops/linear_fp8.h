// linear() while it learns in floats of 8 bits: x, the weight and the gradient are rounded to 8 bits, each in units of
// its own for the whole tensor, before they are multiplied; sums, results and the weight's gradient are as ever.
#pragma once

#include "attend/ops/linear.h"

namespace attend::ops {

// Whether this call can be: the weight is meant to (Products8), and the device and shapes allow it.
bool fits_linear_fp8(const Tensor& x, const Tensor& weight, const Tensor& bias, const LinearOptions& options);
Tensor linear_fp8(const Tensor& x, const Tensor& weight, const Tensor& bias, const LinearOptions& options);

}  // namespace attend::ops
