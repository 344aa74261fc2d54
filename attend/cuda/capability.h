// What a GPU can do.
#pragma once

#include <cuda_runtime.h>

namespace attend::cuda {

// Products of warpgroups (wgmma): compute capability 9.x, neither before nor after.
inline bool has_wgmma(int device) {
  int major = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  return major == 9;
}
// The same of the calling thread's device.
inline bool has_wgmma() {
  int device = 0;
  cudaGetDevice(&device);
  return has_wgmma(device);
}

}  // namespace attend::cuda
