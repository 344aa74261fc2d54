#include "attend/cuda/rows/column_sums.cuh"

#include "attend/cuda/launch.cuh"

namespace attend::cuda {
namespace {

// A block takes 32 columns; its 32 warps take every 32nd chunk, and their sums are added in order.
constexpr int kColumns = 32, kGroups = 32;

struct Result {
  void* into = nullptr;
  bool bf16 = false, accumulate = false;

  Result() = default;
  explicit Result(const Grad& grad)
      : into(pointer<void>(grad.into)), bf16(grad && grad.into.dtype() == DType::bf16), accumulate(grad.accumulate) {}
};

template <class T>
__device__ void put_as(const Result& result, std::int64_t c, float sum) {
  T* into = static_cast<T*>(result.into) + c;
  *into = from_float<T>(result.accumulate ? to_float(*into) + sum : sum);
}
__device__ void put(const Result& result, std::int64_t c, float sum) {
  if (result.bf16)
    put_as<bf16>(result, c, sum);
  else
    put_as<float>(result, c, sum);
}

__global__ void sum_partials_kernel(Partials partials, Result first, Result second, Result third) {
  __shared__ float sums[kGroups][kColumns];
  const Result result = blockIdx.y == 0 ? first : blockIdx.y == 1 ? second : third;
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
  put(result, c, sum * partials.scale);
}

// Of few chunks and many columns, such as the parts of a weight's gradient: a thread per column.
constexpr int kFewThreads = 256;
constexpr std::int64_t kFewChunks = 64, kManyColumns = 1 << 15;
__global__ void sum_few_partials_kernel(Partials partials, Result first, Result second, Result third) {
  const Result result = blockIdx.y == 0 ? first : blockIdx.y == 1 ? second : third;
  const std::int64_t c = blockIdx.x * static_cast<std::int64_t>(kFewThreads) + threadIdx.x;
  if (!result.into || c >= partials.width) return;
  const float* data = partials.data + blockIdx.y * partials.width + c;
  float sum = 0;
#pragma unroll 8
  for (std::int64_t chunk = 0; chunk < partials.chunks; ++chunk) sum += data[chunk * partials.stride];
  put(result, c, sum * partials.scale);
}

}  // namespace

void sum_partials(const CudaBackend& backend, const Partials& partials, const Grad& first, const Grad& second,
                  const Grad& third) {
  if (partials.width == 0 || (!first && !second && !third)) return;
  for (const Grad* into : {&first, &second, &third})
    check(!*into || is_float(into->into.dtype()), "column sums: cuda: into {}", into->into.dtype());
  const unsigned results = third ? 3 : second ? 2 : 1;
  if (partials.chunks <= kFewChunks && partials.width >= kManyColumns) {
    const dim3 grid(blocks_for(partials.width, kFewThreads), results);
    sum_few_partials_kernel<<<grid, kFewThreads, 0, backend.stream()>>>(partials, Result(first), Result(second),
                                                                        Result(third));
    return launch_check("column sums");
  }
  const dim3 grid(blocks_for(partials.width, kColumns), results);
  sum_partials_kernel<<<grid, dim3(kColumns, kGroups), 0, backend.stream()>>>(partials, Result(first), Result(second),
                                                                              Result(third));
  launch_check("column sums");
}

}  // namespace attend::cuda
