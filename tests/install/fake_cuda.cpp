// Stands for libattend_cuda.so where there is no GPU: two devices, of which the first computes on the CPU, with a copy
// of the library's code of its own as the real one has, and the second fails.
#include "attend/base/error.h"
#include "attend/cpu/cpu_backend.h"
#include "attend/cuda/plugin.h"

namespace {

std::vector<attend::CudaDevice> devices() { return {{.name = "a processor"}, {.name = "a broken one"}}; }

std::unique_ptr<attend::Backend> open(int device) {
  attend::check(device == 0, "fake: device {} is broken", device);
  return std::make_unique<attend::CpuBackend>(attend::CpuOptions{.threads = 1});
}

}  // namespace

extern "C" const attend::CudaPlugin* attend_cuda_plugin() {
  static constexpr attend::CudaPlugin kPlugin = {.build = ATTEND_BUILD, .devices = devices, .open = open};
  return &kPlugin;
}
