#include "attend/cuda/tensor_map.h"

#include <cuda_runtime_api.h>

#include "attend/base/error.h"
#include "attend/cuda/cuda_check.h"

namespace attend::cuda {

namespace {

// The driver's functions, asked for by name: the program then starts without a driver, too.
template <class Function>
Function* driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  cuda_check(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result),
             "cudaGetDriverEntryPoint");
  check(found && result == cudaDriverEntryPointSuccess, "cuda: the driver has no {}; it is too old", name);
  return reinterpret_cast<Function*>(found);
}
auto* encoder() {
  static auto* const function = driver_function<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  return function;
}
auto* windows_encoder() {
  static auto* const function = driver_function<decltype(cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
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

// The corners and steps of images::WindowWalk; the innermost axis comes first, and among the corners the width.
std::optional<CUtensorMap> tensor_map_of_windows(const WindowedImage& image) {
  const images::WindowWalk& walk = image.walk;
  if (!images::walk_fits(walk)) return std::nullopt;
  CUtensorMap map;
  const auto as_size = [](std::int64_t value) { return static_cast<cuuint64_t>(value); };
  const cuuint64_t sizes[4] = {as_size(image.channels), as_size(walk.w.walk.size), as_size(walk.h.walk.size),
                               as_size(walk.images)};
  const cuuint64_t strides[3] = {as_size(image.pixel * 2), as_size(image.line * 2), as_size(image.image * 2)};
  const int lower[2] = {walk.w.walk.lower(), walk.h.walk.lower()},
            upper[2] = {walk.w.walk.upper(), walk.h.walk.upper()};
  const cuuint32_t steps[4] = {1, static_cast<cuuint32_t>(walk.w.walk.step), static_cast<cuuint32_t>(walk.h.walk.step),
                               1};
  const CUresult result = windows_encoder()(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, const_cast<void*>(image.data),
                                            sizes, strides, lower, upper, 64, static_cast<cuuint32_t>(image.tile_rows),
                                            steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                            CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) return std::nullopt;
  return map;
}

}  // namespace attend::cuda
