// linear() for training with 8-bit floats (Micikevicius et al. 2022). x, the weight and the gradient are rounded to 8
// bits, each with one scale for the whole tensor, before they are multiplied. Sums, results and the weight's gradient
// keep their usual formats.
#pragma once

#include "attend/ops/linear.h"

namespace attend::ops {

// True if this call can use it: the weight asks for it (Products8), and the device and the shapes allow it.
bool fits_linear_fp8(const Tensor& x, const Tensor& weight, const Tensor& bias, const LinearOptions& options);
Tensor linear_fp8(const Tensor& x, const Tensor& weight, const Tensor& bias, const LinearOptions& options);

}  // namespace attend::ops
