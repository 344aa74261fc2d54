// bf16 to floats of 8 bits, as they are and transposed, in one read: the matrix units want both operands of an 8-bit
// product with the summed axis innermost, and every tensor is summed over both of its axes, once forward, once
// backward.
#include <cuda_fp8.h>

#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/block.cuh"

namespace attend {
namespace cuda {
namespace {

// A block takes 128 rows of 64 columns; a thread four rows of eight.
constexpr int kRows = 128, kColumns = 64, kAcross = kColumns / 8, kThreads = kAcross * kRows / 4;
constexpr int kPitch = kRows / 4 + 1;  // words of a column in shared memory

struct Cast {
  const bf16* x;
  std::int64_t stride;
  int rows, columns;
  float* scale;
  std::uint8_t* y;
  std::uint8_t* transposed;
};

template <__nv_fp8_interpretation_t kFormat>
__device__ __forceinline__ unsigned pair(float a, float b) {
  return __nv_cvt_float2_to_fp8x2({a, b}, __NV_SATFINITE, kFormat);
}

template <__nv_fp8_interpretation_t kFormat>
__global__ void __launch_bounds__(kThreads) cast8_kernel(Cast p) {
  __shared__ unsigned words[kColumns * kPitch];
  __shared__ float shared[kWarp];
  const int pack = threadIdx.x % kAcross, quad = threadIdx.x / kAcross;
  const int column = blockIdx.x * kColumns + pack * 8, row = blockIdx.y * kRows + quad * 4;
  const float factor = 1.0f / p.scale[0];
  float largest = 0;
  std::uint8_t bytes[4][8];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float x[8] = {};
    if (row + i < p.rows && column < p.columns) load_once(p.x + (row + i) * p.stride + column, x);
    uint2 packed;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      largest = fmaxf(largest, fabsf(x[j]));
      x[j] *= factor;
    }
    packed.x = pair<kFormat>(x[0], x[1]) | pair<kFormat>(x[2], x[3]) << 16;
    packed.y = pair<kFormat>(x[4], x[5]) | pair<kFormat>(x[6], x[7]) << 16;
    if (p.y && row + i < p.rows && column < p.columns)
      *reinterpret_cast<uint2*>(p.y + static_cast<std::int64_t>(row + i) * p.columns + column) = packed;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      bytes[i][j] = static_cast<std::uint8_t>(packed.x >> (8 * j));
      bytes[i][4 + j] = static_cast<std::uint8_t>(packed.y >> (8 * j));
    }
  }
  // Order does not matter to a maximum, so the result is the same every time; floats above 0 are ordered as integers.
  largest = block_max<kThreads>(largest, shared);
  if (threadIdx.x == 0) atomicMax(reinterpret_cast<int*>(p.scale + 1), __float_as_int(largest));
  if (!p.transposed) return;
#pragma unroll
  for (int j = 0; j < 8; ++j)
    words[(pack * 8 + j) * kPitch + quad] =
        bytes[0][j] | bytes[1][j] << 8 | bytes[2][j] << 16 | static_cast<unsigned>(bytes[3][j]) << 24;
  __syncthreads();
  // 128 rows are eight pieces of 16 bytes of a column.
  constexpr int kPieces = kRows / 16;
#pragma unroll
  for (int piece = threadIdx.x; piece < kColumns * kPieces; piece += kThreads) {
    const int c = piece / kPieces, part = piece % kPieces;
    const int to_column = blockIdx.x * kColumns + c, to_row = blockIdx.y * kRows + part * 16;
    if (to_column >= p.columns || to_row >= p.rows) continue;
    const unsigned* from = words + c * kPitch + part * 4;
    *reinterpret_cast<uint4*>(p.transposed + static_cast<std::int64_t>(to_column) * p.rows + to_row) =
        make_uint4(from[0], from[1], from[2], from[3]);
  }
}

// Twice the largest of the step before still fits: a step that grows faster is cut off at the format's end.
__global__ void next_units_kernel(float* scales, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float* scale = scales + 4 * i;
  if (scale[1] > 0 && isfinite(scale[1])) scale[0] = 2 * scale[1] / scale[2];
  scale[1] = 0;
}

}  // namespace
}  // namespace cuda

bool CudaBackend::has_products8() const {
  int major = 0, minor = 0;
  cuda_check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device()), "cudaDeviceGetAttribute");
  cuda_check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device()), "cudaDeviceGetAttribute");
  return major * 10 + minor >= 89;
}

void CudaBackend::cast8(const Tensor& x, const Units8& units, const Tensor& y, const Tensor& transposed) {
  using namespace cuda;
  const std::int64_t rows = x.rows(), columns = x.width();
  check(x.dtype() == DType::bf16 && rows % 16 == 0 && columns % 16 == 0 && rows_aligned16(x) && columns < (1 << 30) &&
            rows < (std::int64_t{65535} * kRows),
        "cast8: cuda: {} of {}", x.shape(), x.dtype());
  if (x.size() == 0) return;
  const Cast args = {.x = pointer<bf16>(x),
                     .stride = x.row_stride(),
                     .rows = static_cast<int>(rows),
                     .columns = static_cast<int>(columns),
                     .scale = pointer<float>(units.scale),
                     .y = pointer<std::uint8_t>(y),
                     .transposed = pointer<std::uint8_t>(transposed)};
  const dim3 grid(blocks_for(columns, kColumns), blocks_for(rows, kRows));
  if (units.format == Float8::e4m3)
    cast8_kernel<__NV_E4M3><<<grid, kThreads, 0, stream()>>>(args);
  else
    cast8_kernel<__NV_E5M2><<<grid, kThreads, 0, stream()>>>(args);
  launch_check("cast8");
}

void CudaBackend::next_units8(const Tensor& scales) {
  using namespace cuda;
  const auto count = static_cast<int>(scales.rows());
  next_units_kernel<<<blocks_for(count, 256), 256, 0, stream()>>>(pointer<float>(scales), count);
  launch_check("next_units8");
}

}  // namespace attend
