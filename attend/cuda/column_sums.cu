#include "attend/cuda/column_sums.cuh"

#include "attend/cuda/launch.cuh"

namespace attend::cuda {
namespace {

// A block takes 32 columns; its 16 warps take every 16th chunk, and their sums are added in order.
constexpr int kColumns = 32, kGroups = 16;

template <class T>
__global__ void sum_partials_kernel(const float* partial, std::int64_t chunks, std::int64_t width, float scale, T* into,
                                    bool accumulate) {
  __shared__ float sums[kGroups][kColumns];
  const std::int64_t c = blockIdx.x * static_cast<std::int64_t>(kColumns) + threadIdx.x;
  float sum = 0;
  if (c < width) {
#pragma unroll 4
    for (std::int64_t chunk = threadIdx.y; chunk < chunks; chunk += kGroups) sum += partial[chunk * width + c];
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || c >= width) return;
  for (int group = 1; group < kGroups; ++group) sum += sums[group][threadIdx.x];
  sum *= scale;
  into[c] = from_float<T>(accumulate ? to_float(into[c]) + sum : sum);
}

}  // namespace

void sum_partials(const CudaBackend& backend, const float* partial, std::int64_t chunks, std::int64_t width,
                  float scale, const Grad& into) {
  if (width == 0) return;
  with_float(into.into.dtype(), "column sums", [&](auto type) {
    using T = typename decltype(type)::type;
    sum_partials_kernel<T><<<blocks_for(width, kColumns), dim3(kColumns, kGroups), 0, backend.stream()>>>(
        partial, chunks, width, scale, pointer<T>(into.into), into.accumulate);
  });
  launch_check("column sums");
}

}  // namespace attend::cuda
