// The step of 3 to 128 rows as one kernel (few_rows_step.cuh).
#pragma once

#include <memory>

#include "attend/tensor/causal_step.h"

namespace attend {
class CudaBackend;
}

namespace attend::cuda {

// Null where there is no such kernel: other shapes, dtypes and GPUs, and while another decoder holds the GPU's.
std::unique_ptr<CausalStep> few_rows_step(CudaBackend& backend, const DecoderWeights& weights);
// Up to 64 rows (dealt_rows_kernel.cuh).
std::unique_ptr<CausalStep> dealt_rows_step(CudaBackend& backend, const DecoderWeights& weights);

}  // namespace attend::cuda
