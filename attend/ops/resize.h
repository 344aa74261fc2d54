// Resizes images [B, H, W, C] -> [B, H', W', C] like torch.nn.functional.interpolate, without smoothing before
// shrinking.
#pragma once

#include "attend/tensor/images.h"
#include "attend/tensor/tensor.h"

namespace attend::ops {

Tensor resize(const Tensor& x, const Extent2& size, const Resizing& options = {});

}  // namespace attend::ops
