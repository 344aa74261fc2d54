// Where CUDA comes from when a program asks for it: linked in, or libattend_cuda.so, opened when it is first wanted, so
// that one program serves machines with and without a GPU.
#pragma once

#include <string>

#include "attend/cuda/plugin.h"

namespace attend {

struct CudaLibrary {
  const CudaPlugin* plugin = nullptr;
  std::string missing;  // why there is none
};

// Opened once. Throws nothing.
const CudaLibrary& cuda_library();
// Whether there is one to open; opens nothing.
bool has_cuda_library();

}  // namespace attend
