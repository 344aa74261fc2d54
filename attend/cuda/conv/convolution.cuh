// The shape of a convolution as its kernels see it, and the three products it is: forward, to x, to the weight.
#pragma once

#include "attend/cuda/launch.cuh"

namespace attend::cuda {

struct Conv {
  int batch, height, width, channels;  // x
  int results_h, results_w, results;   // y
  int kernel_h, kernel_w;
  int inputs, outputs;  // channels of a group on both sides
  int groups;
  int stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w;

  Conv(const Convolution& args, const Tensor& x, const Tensor& weight, const Tensor& y);
  __host__ __device__ int taps() const { return kernel_h * kernel_w; }
  __host__ __device__ int row() const { return taps() * inputs; }
  std::int64_t pixels() const { return static_cast<std::int64_t>(batch) * results_h * results_w; }
  std::int64_t places() const { return static_cast<std::int64_t>(batch) * height * width; }
};

inline bool is_depthwise(const Convolution& args, const Tensor& weight) {
  return args.groups > 1 && weight.dim(3) == 1;
}

// Which result reads place `at` with a tap; -1: none.
__device__ __forceinline__ int reader(int at, int tap, int stride, int padding, int dilation, int results) {
  const int from = at + padding - tap * dilation;
  if (from < 0) return -1;
  if (stride == 1) return from < results ? from : -1;  // the usual ones without a division
  if (stride == 2) return from % 2 == 0 && from / 2 < results ? from / 2 : -1;
  return from % stride == 0 && from / stride < results ? from / stride : -1;
}

// x at one place of one image, or null outside.
template <class T>
__device__ __forceinline__ const T* place_of(const Conv& c, const T* x, int b, int h, int w) {
  if (h < 0 || w < 0 || h >= c.height || w >= c.width) return nullptr;
  return x + ((static_cast<std::int64_t>(b) * c.height + h) * c.width + w) * c.channels;
}

// By tiles on the tensor cores (convolution_tiles.cu): bf16 with channels in multiples of eight.
bool tiles_fit(const Conv& c, const Tensor& x, const Tensor& weight, const Tensor& y);
void convolution_tiles(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& weight, const Tensor& bias,
                       Activation activation, const Grad& y);
void convolution_input_tiles(CudaBackend& backend, const Conv& c, const Tensor& dy, const Tensor& weight,
                             const Grad& dx);
void convolution_weight_tiles(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& dy,
                              const Grad& dweight);
// The same of bf16 with channels of any number (the colours of an image): filled up with zeros first.
bool filled_tiles_fit(const Conv& c, const Tensor& x);
void convolution_filled_tiles(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& weight,
                              const Tensor& bias, Activation activation, const Grad& y);
void convolution_input_filled_tiles(CudaBackend& backend, const Conv& c, const Tensor& dy, const Tensor& weight,
                                    const Grad& dx);
void convolution_weight_filled_tiles(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& dy,
                                     const Grad& dweight);

// Each group has one input channel: tap by tap, without a product.
void depthwise(const CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& weight, const Tensor& bias,
               const Grad& y);
void depthwise_input(const CudaBackend& backend, const Conv& c, const Tensor& dy, const Tensor& weight, const Grad& dx);
void depthwise_weight(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& dy, const Grad& dweight);

}  // namespace attend::cuda
