#include "attend/cuda/plugin.h"

extern "C" const attend::CudaPlugin* attend_cuda_plugin() {
  using namespace attend;
  static constexpr CudaPlugin kPlugin = {
      .build = ATTEND_BUILD,
      .devices = cuda_devices,
      .open = [](int device) -> std::unique_ptr<Backend> { return std::make_unique<CudaBackend>(device); },
  };
  return &kPlugin;
}
