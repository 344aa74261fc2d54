// Kernels that begin while the one in front of them still runs (programmatic dependent launch, sm_90): a small kernel
// of decoding spends most of its time on being launched and on its first loads from memory, and both can be had for
// free.
#pragma once

#include "attend/cuda/cuda_check.h"

namespace attend::cuda {

// Until here a kernel may only read what the kernels in front, all but the last of which are done, do not write.
__device__ __forceinline__ void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Says that the next kernel's blocks may begin, if it was launched early. Call it after wait_for_kernel_before(), so
// that a kernel never meets one two places in front of it.
__device__ __forceinline__ void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Whether the current device can do it; older ones wait as ever.
inline bool launches_early() {
  int device = 0, major = 0;
  cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  cuda_check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
  return major >= 9;
}

// `cluster` neighbouring blocks may read each other's shared memory (sm_90).
template <class Args>
void launch_early(bool early, void (*kernel)(Args), unsigned blocks, int threads, cudaStream_t stream, const Args& args,
                  int cluster = 1, std::size_t shared_bytes = 0) {
  cudaLaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (early && launches_early()) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = static_cast<unsigned>(cluster);
    attributes[count].val.clusterDim.y = attributes[count].val.clusterDim.z = 1;
    ++count;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  cuda_check(cudaLaunchKernelEx(&config, kernel, args), "kernel launch");
}

}  // namespace attend::cuda
