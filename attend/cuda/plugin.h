// CUDA behind one interface: what attend/backends.cpp asks of it, whether it is linked in or opened when a GPU is
// wanted (libattend_cuda.so, which a program and a library that know nothing of CUDA find beside them).
#pragma once

#include <memory>
#include <vector>

#include "attend/cuda/cuda_backend.h"

namespace attend {

struct CudaPlugin {
  // What both sides were built from: tensors and backends are handed across as they lie in memory.
  const char* build;
  std::vector<CudaDevice> (*devices)();
  std::unique_ptr<Backend> (*open)(int device);
};

}  // namespace attend

extern "C" const attend::CudaPlugin* attend_cuda_plugin();
