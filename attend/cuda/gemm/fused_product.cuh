// Products in bf16 with an activation, or its slope, at their end: our own kernel for Hopper.
#pragma once

#include "attend/cuda/gemm/gemm_planner.h"
#include "attend/tensor/activation.h"

namespace attend::cuda {

// c = f(a op(b) + bias) as Gemm describes it, pre kept if given. False when the problem does not fit: other devices,
// dtypes, activations or alignments, or too few rows.
bool fused_product(CudaBackend& backend, const Gemm& gemm, Activation kind);

// c = (a op(b)) · f'(pre), and the sums of its columns.
bool fused_product_backward(CudaBackend& backend, const Gemm& gemm, Activation kind, const Grad& sums);

}  // namespace attend::cuda
