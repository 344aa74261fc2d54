// Matrix products of one row, as in decoding one sequence: the time goes into reading b once, at memory speed.
#pragma once

#include "attend/cuda/gemm/gemm_planner.h"
#include "attend/tensor/activation.h"

namespace attend::cuda {

// c = activation(alpha · a op(b) + bias), as Gemm describes it, pre kept if given. False when the problem does not fit:
// more than one row, or rows of b that 16-byte loads cannot read. From two rows on cuBLASLt is as fast.
bool gemv(const CudaBackend& backend, const Gemm& gemm, Activation activation);

}  // namespace attend::cuda
