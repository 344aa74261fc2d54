// Convolutions of images [B, H, W, C], channels last, so that a window is a few runs of memory and a 1 x 1
// convolution is a product.
//
// Weights lie as [O, kh, kw, C / groups]: rows in the order in which windows are read. Checkpoints have
// [O, C / groups, kh, kw]; ops::permute(weight, {0, 2, 3, 1}) is ours, and {0, 3, 1, 2} the way back.
#pragma once

#include <cstdint>

#include "attend/tensor/activation.h"
#include "attend/tensor/images.h"
#include "attend/tensor/tensor.h"

namespace attend::ops {

// As torch.nn.functional.conv2d.   x [B, H, W, C]   weight [O, kh, kw, C / groups]   bias [O] or undefined
//   ->   [B, (H + 2 padding - dilation (kh - 1) - 1) / stride + 1, .., O]
// Where nothing is recorded the activation costs no pass of its own.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Convolution& options = {},
              Activation activation = Activation::none);

struct TransposedConvolution {
  Convolution window = {};
  Extent2 output_padding = {0, 0};  // places at the bottom and the right that windows may not reach
};

// The way back through a conv2d as a layer of its own, as torch.nn.functional.conv_transpose2d.
//   x [B, H, W, C]   weight [C, kh, kw, O / groups], a checkpoint's [C, O / groups, kh, kw] permuted as above
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const TransposedConvolution& options = {});

}  // namespace attend::ops
