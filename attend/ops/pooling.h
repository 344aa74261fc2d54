// Pooling of images [B, H, W, C] over windows, as in torch.nn.functional: [B, H, W, C] -> [B, H', W', C].
#pragma once

#include "attend/tensor/images.h"
#include "attend/tensor/tensor.h"

namespace attend::ops {

struct PoolOptions {
  Extent2 kernel = {}, stride = {}, padding = {0, 0};
  bool counts_padding = true;  // averages only: count_include_pad
};

Tensor max_pool2d(const Tensor& x, const PoolOptions& options);
Tensor avg_pool2d(const Tensor& x, const PoolOptions& options);
// Windows that divide the image evenly: window o is [floor(o H / OH), ceil((o + 1) H / OH)).
Tensor adaptive_avg_pool2d(const Tensor& x, const Extent2& size);

}  // namespace attend::ops
