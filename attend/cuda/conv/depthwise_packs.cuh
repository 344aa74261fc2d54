// Depthwise convolutions of 3 x 3 whose channels fill packs of 16 bytes: a thread keeps one pack of channels, with the
// nine weights of each in registers, and walks over pixels. MViT's poolings (Fan et al. 2021) are of this kind.
#pragma once

#include "attend/cuda/conv/convolution.cuh"

namespace attend::cuda {

// Whether every channel has one result, the window is 3 x 3, and all of `tensors` can be read in packs.
bool packs_fit(const Conv& c, std::initializer_list<Tensor> tensors);
void depthwise_packs(const CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& weight,
                     const Tensor& bias, const Grad& y);
void depthwise_input_packs(const CudaBackend& backend, const Conv& c, const Tensor& dy, const Tensor& weight,
                           const Grad& dx);
void depthwise_weight_packs(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& dy,
                            const Grad& dweight);

}  // namespace attend::cuda
