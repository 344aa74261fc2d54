#include "attend/cuda/tensor_map.h"

#include <cuda_runtime_api.h>

#include "attend/base/error.h"
#include "attend/cuda/cuda_check.h"

namespace attend::cuda {

namespace {

// The driver's function, asked for by name: the program then starts without a driver, too.
decltype(&cuTensorMapEncodeTiled) encoder() {
  static const auto function = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    cuda_check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result),
               "cudaGetDriverEntryPoint");
    check(found && result == cudaDriverEntryPointSuccess,
          "cuda: the driver has no cuTensorMapEncodeTiled; it is too old");
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
  }();
  return function;
}

}  // namespace

CUtensorMap tensor_map(const TiledMatrix& matrix) {
  CUtensorMap map;
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(matrix.columns), static_cast<cuuint64_t>(matrix.rows)};
  const cuuint64_t strides[1] = {static_cast<cuuint64_t>(matrix.stride) * 2};
  const cuuint32_t tile[2] = {64, static_cast<cuuint32_t>(matrix.tile_rows)}, steps[2] = {1, 1};
  const CUresult result = encoder()(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(matrix.data), sizes,
                                    strides, tile, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                    CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  check(result == CUDA_SUCCESS, "cuda: the copy engine refuses a matrix of {} x {}, stride {} (error {})", matrix.rows,
        matrix.columns, matrix.stride, static_cast<int>(result));
  return map;
}

CUtensorMap tensor_map_of_heads(const TiledHeads& matrix) {
  CUtensorMap map;
  const cuuint64_t sizes[3] = {static_cast<cuuint64_t>(matrix.width), static_cast<cuuint64_t>(matrix.heads),
                               static_cast<cuuint64_t>(matrix.rows)};
  const cuuint64_t strides[2] = {static_cast<cuuint64_t>(matrix.width) * 2, static_cast<cuuint64_t>(matrix.stride) * 2};
  const cuuint32_t tile[3] = {64, 1, static_cast<cuuint32_t>(matrix.tile_rows)}, steps[3] = {1, 1, 1};
  const CUresult result = encoder()(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<void*>(matrix.data), sizes,
                                    strides, tile, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                    CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  check(result == CUDA_SUCCESS,
        "cuda: the copy engine refuses a matrix of {} rows of {} heads of {}, stride {} (error {})", matrix.rows,
        matrix.heads, matrix.width, matrix.stride, static_cast<int>(result));
  return map;
}

}  // namespace attend::cuda
