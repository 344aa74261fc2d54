#include "attend/cuda/column_sums.cuh"

#include "attend/cuda/launch.cuh"

namespace attend::cuda {
namespace {

// A block takes 32 columns; its 32 warps take every 32nd chunk, and their sums are added in order.
constexpr int kColumns = 32, kGroups = 32;

template <class T>
struct Result {
  T* into;
  bool accumulate;
};

template <class T>
__global__ void sum_partials_kernel(Partials partials, Result<T> first, Result<T> second) {
  __shared__ float sums[kGroups][kColumns];
  const Result<T> result = blockIdx.y == 0 ? first : second;
  if (!result.into) return;
  const std::int64_t c = blockIdx.x * static_cast<std::int64_t>(kColumns) + threadIdx.x;
  const float* data = partials.data + blockIdx.y * partials.width + c;
  float sum = 0;
  if (c < partials.width) {
#pragma unroll 8
    for (std::int64_t chunk = threadIdx.y; chunk < partials.chunks; chunk += kGroups)
      sum += data[chunk * partials.stride];
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || c >= partials.width) return;
  for (int group = 1; group < kGroups; ++group) sum += sums[group][threadIdx.x];
  sum *= partials.scale;
  result.into[c] = from_float<T>(result.accumulate ? to_float(result.into[c]) + sum : sum);
}

}  // namespace

void sum_partials(const CudaBackend& backend, const Partials& partials, const Grad& first, const Grad& second) {
  if (partials.width == 0 || (!first && !second)) return;
  const DType dtype = first ? first.into.dtype() : second.into.dtype();
  check(!second || second.into.dtype() == dtype, "column sums: cuda: into {} and {}", dtype,
        second ? second.into.dtype() : dtype);
  with_float(dtype, "column sums", [&](auto type) {
    using T = typename decltype(type)::type;
    const dim3 grid(blocks_for(partials.width, kColumns), second ? 2 : 1);
    sum_partials_kernel<T><<<grid, dim3(kColumns, kGroups), 0, backend.stream()>>>(
        partials, Result<T>{pointer<T>(first.into), first.accumulate},
        Result<T>{pointer<T>(second.into), second.accumulate});
  });
  launch_check("column sums");
}

}  // namespace attend::cuda
