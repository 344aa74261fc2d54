// Convolutions of bf16 on Hopper by way of the copy engine's windows (window_rows.cuh, window_weight.cuh): what fits,
// the ways there are, and their launches. A way that the engine refuses launches nothing and returns false.
#pragma once

#include <vector>

#include "attend/cuda/conv/convolution.cuh"

namespace attend::cuda {

// Tiles of rows x columns of the result. Rows, or for a gradient of the weight parts of the pixels, are shared out.
struct WindowWay {
  const char* name;
  int id;
  int parts = 1;  // of the pixels: gradient of the weight
};

// What the forward kernels apply; other activations come behind them.
inline bool fuses_in_windows(Activation kind) {
  return kind == Activation::none || kind == Activation::relu || kind == Activation::silu ||
         kind == Activation::leaky_relu;
}

// Channels in multiples of eight on both sides, one group, everything aligned.
bool windows_fit(const CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& weight, const Tensor& y);
// Few channels of x, any number, which are folded first: forward and gradient of the weight.
bool folded_windows_fit(const CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& weight,
                        const Tensor& y);

// The ways for this many columns (of weights: rows and columns), the likely best first.
std::vector<WindowWay> window_row_ways(std::int64_t rows, std::int64_t columns, int units);
std::vector<WindowWay> window_weight_ways(const Conv& c, bool folded, int units);

bool convolution_windows(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         Activation activation, const Grad& y, const WindowWay& way);
bool convolution_folded_windows(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& weight,
                                const Tensor& bias, Activation activation, const Grad& y, const WindowWay& way);
bool convolution_input_windows(CudaBackend& backend, const Conv& c, const Tensor& dy, const Tensor& weight,
                               const Grad& dx, const WindowWay& way);
bool convolution_weight_windows(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& dy,
                                const Grad& dweight, const WindowWay& way);
bool convolution_weight_folded_windows(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& dy,
                                       const Grad& dweight, const WindowWay& way);

}  // namespace attend::cuda
