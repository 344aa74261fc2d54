// Turns CUDA and cuBLASLt status codes into attend::Error.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include "attend/base/error.h"

namespace attend {

inline void cuda_check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) [[unlikely]] {
    cudaGetLastError();  // forget it: the next call should report its own trouble
    fail("cuda: {}: {} ({})", what, cudaGetErrorString(status), cudaGetErrorName(status));
  }
}

// After every kernel launch: a wrong launch configuration shows up here.
inline void launch_check(const char* kernel) { cuda_check(cudaGetLastError(), kernel); }

inline void cublas_check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    fail("cublasLt: {}: {}", what, cublasLtGetStatusString(status));
}

}  // namespace attend
