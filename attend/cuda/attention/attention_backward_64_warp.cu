// The attention backward pass for heads up to 64 wide, without warpgroups.
#include "attend/cuda/attention/attention_backward_tiled.cuh"

namespace attend::cuda {

template void launch_backward_config<Backward64Warp>(const BackwardKernelParams&, cudaStream_t);

}  // namespace attend::cuda
