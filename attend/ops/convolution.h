// Convolutions of images [B, H, W, C], channels last, so that a window is a few contiguous runs of memory and a 1 x 1
// convolution is a matrix product.
//
// Weights are [O, kh, kw, C / groups], in the order in which windows are read. Checkpoints store [O, C / groups, kh,
// kw]. ops::permute(weight, {0, 2, 3, 1}) converts to our order, and {0, 3, 1, 2} converts back.
#pragma once

#include <cstdint>

#include "attend/tensor/activation.h"
#include "attend/tensor/images.h"
#include "attend/tensor/tensor.h"

namespace attend::ops {

// As torch.nn.functional.conv2d.   x [B, H, W, C]   weight [O, kh, kw, C / groups]   bias [O] or undefined
//   ->   [B, (H + 2 padding - dilation (kh - 1) - 1) / stride + 1, .., O]
// Without recording, the activation is fused into the kernel. residual, shaped like the result, is added before the
// activation.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Convolution& options = {},
              Activation activation = Activation::none, const Tensor& residual = {});

struct TransposedConvolution {
  Convolution window = {};
  Extent2 output_padding = {0, 0};  // places added at the bottom and the right
};

// Transposed convolution: the gradient of conv2d with respect to its input, as a layer
// (torch.nn.functional.conv_transpose2d).
//   x [B, H, W, C]   weight [C, kh, kw, O / groups], a checkpoint's [C, O / groups, kh, kw] permuted as above
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const TransposedConvolution& options = {});

}  // namespace attend::ops
