// The second half of a sum over rows: kernels leave one partial sum per chunk of rows in scratch memory, and this adds
// the chunks in order. The number of chunks depends on the size alone, so the result is the same every time.
#pragma once

#include <cstdint>

#include "attend/cuda/cuda_backend.h"

namespace attend::cuda {

// f32 [chunks, stride], of which the first width columns go into the first result, the next into the second, ..
struct Partials {
  const float* data = nullptr;
  std::int64_t chunks = 0, width = 0, stride = 0;
  float scale = 1;
};

// into[c] (+)= scale · Σ_chunk data[chunk][c]. Each result is f32 or bf16 [width]; an empty one is skipped.
void sum_partials(const CudaBackend& backend, const Partials& partials, const Grad& first, const Grad& second = {},
                  const Grad& third = {});

}  // namespace attend::cuda
