// The step of up to 64 rows as one kernel (many_rows_kernel.cuh).
#pragma once

#include <memory>

#include "attend/tensor/causal_step.h"

namespace attend {
class CudaBackend;
}

namespace attend::cuda {

// Null where there is no such kernel: other shapes, dtypes and GPUs, and while another decoder holds the GPU's.
std::unique_ptr<CausalStep> many_rows_step(CudaBackend& backend, const DecoderWeights& weights);

}  // namespace attend::cuda
