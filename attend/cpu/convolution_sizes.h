// The sizes of a convolution, named once for those that are products and those that are done tap by tap.
#pragma once

#include <cstdint>

#include "attend/tensor/images.h"
#include "attend/tensor/tensor.h"

namespace attend::cpu {

// x [B, H, W, C], weight [O, kh, kw, C / groups], y [B, OH, OW, O].
struct ConvolutionSizes {
  Convolution window;
  std::int64_t batch, height, width, channels;  // of x
  std::int64_t results_h, results_w, results;   // of y
  std::int64_t kernel_h, kernel_w;

  ConvolutionSizes(const Convolution& args, const Tensor& x, const Tensor& weight, const Tensor& y)
      : window(args),
        batch(x.dim(0)),
        height(x.dim(1)),
        width(x.dim(2)),
        channels(x.dim(3)),
        results_h(y.dim(1)),
        results_w(y.dim(2)),
        results(y.dim(3)),
        kernel_h(weight.dim(1)),
        kernel_w(weight.dim(2)) {}
};

}  // namespace attend::cpu
