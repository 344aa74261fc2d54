// Which GPUs there are. Runs on machines without any.
#include <cuda_runtime_api.h>

#include "attend/cuda/cuda_backend.h"

namespace attend {

std::vector<CudaDevice> cuda_devices() {
  std::vector<CudaDevice> devices;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return devices;
  }
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) {
      cudaGetLastError();
      continue;
    }
    devices.push_back({.name = properties.name,
                       .memory = properties.totalGlobalMem,
                       .major = properties.major,
                       .minor = properties.minor,
                       .multiprocessors = properties.multiProcessorCount});
  }
  return devices;
}

}  // namespace attend
