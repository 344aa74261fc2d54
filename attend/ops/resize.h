// Images [B, H, W, C] at another size, as torch.nn.functional.interpolate has it: no smoothing before shrinking.
#pragma once

#include "attend/tensor/images.h"
#include "attend/tensor/tensor.h"

namespace attend::ops {

Tensor resize(const Tensor& x, const Extent2& size, const Resizing& options = {});

}  // namespace attend::ops
