// Convolutions in which each group has one input channel: too thin for a product, so they are done tap by tap.
#pragma once

#include <cstdint>

#include "attend/base/thread_pool.h"
#include "attend/cpu/convolution_sizes.h"

namespace attend::cpu {

// weight is [O, kh, kw, 1], O a multiple of C. taps f32 [kh·kw, O] is where it is laid out for vectors of channels.
struct Depthwise : ConvolutionSizes {
  float* taps = nullptr;

  using ConvolutionSizes::ConvolutionSizes;
  std::int64_t tap_floats() const { return kernel_h * kernel_w * results; }
  std::int64_t multiplier() const { return results / channels; }
};

void lay_out_taps(const Depthwise& conv, const Tensor& weight);
void depthwise(const Depthwise& conv, const Tensor& x, const Tensor& bias, const Grad& y, ThreadPool& pool);
void depthwise_input(const Depthwise& conv, const Tensor& dy, const Grad& dx, ThreadPool& pool);

// The sums of the weight's gradient over rows [begin, end) of the B · OH rows of y: f32 [kh·kw, O].
void depthwise_weight_sums(const Depthwise& conv, const Tensor& x, const Tensor& dy, std::int64_t begin,
                           std::int64_t end, float* sums);

}  // namespace attend::cpu
