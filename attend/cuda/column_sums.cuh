// The second half of a sum over rows: kernels leave one partial sum a chunk of rows in scratch memory, and this adds
// the chunks in order. The number of chunks depends on the size alone, so the result is the same every time.
#pragma once

#include <cstdint>

#include "attend/cuda/cuda_backend.h"

namespace attend::cuda {

// into[c] (+)= scale · Σ_chunk partial[chunk][c];  partial f32 [chunks, width], into [width] f32 or bf16.
void sum_partials(const CudaBackend& backend, const float* partial, std::int64_t chunks, std::int64_t width,
                  float scale, const Grad& into);

}  // namespace attend::cuda
