// The attention backward pass for heads up to 256 wide.
#include "attend/cuda/attention/attention_backward_tiled.cuh"

namespace attend::cuda {

template void launch_backward_config<Backward256>(const BackwardKernelParams&, cudaStream_t);

}  // namespace attend::cuda
