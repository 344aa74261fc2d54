// The largest few of each row, one block per row: every thread knows the best of its own share, the block agrees on the
// best of those, and only the thread that lost its best looks through its share again.
#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/choice.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 1024, kWarps = kThreads / kWarp;

__device__ __forceinline__ unsigned long long largest(unsigned long long key) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) {
    const unsigned long long other = __shfl_xor_sync(0xffffffffu, key, step);
    key = other > key ? other : key;
  }
  return key;
}

template <class T>
__global__ void __launch_bounds__(kThreads) top_k_kernel(const T* x, std::int64_t width, const std::uint8_t* suppressed,
                                                         int count, float* values, std::int32_t* ids, float* log_sums) {
  __shared__ unsigned long long keys[kWarps];
  __shared__ ExpSum sums[kWarps];
  const T* row = x + blockIdx.x * width;
  const int n = static_cast<int>(width), lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  ExpSum sum;
  unsigned long long mine = 0;  // below every key
  // Eight elements at a time, so that their loads are in flight together and the running sum is rescaled once.
  constexpr int kAtOnce = 8;
  for (int first = threadIdx.x; first < n; first += kAtOnce * kThreads) {
    float value[kAtOnce], most = -INFINITY;
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      const int i = first + j * kThreads;
      value[j] = i < n ? to_float(row[i]) : -INFINITY;
    }
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      const int i = first + j * kThreads;
      if (i >= n) break;
      const unsigned long long key = suppressed && suppressed[i] ? 0 : choice_key(value[j], i);
      mine = key > mine ? key : mine;
      most = fmaxf(most, value[j]);
    }
    float total = 0;
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) total += value[j] == -INFINITY ? 0.0f : __expf(value[j] - most);  // NaN stays NaN
    sum = merge(sum, {most, total});
  }
  sum = block_merge<kThreads>(sum, sums);
  if (threadIdx.x == 0) log_sums[blockIdx.x] = sum.max + logf(sum.sum);
  for (int k = 0; k < count; ++k) {
    unsigned long long best = largest(mine);
    if (lane == 0) keys[warp] = best;
    __syncthreads();
    best = largest(keys[lane]);
    __syncthreads();
    if (threadIdx.x == 0) {
      values[static_cast<std::int64_t>(blockIdx.x) * count + k] = logit_of_choice(best);
      ids[static_cast<std::int64_t>(blockIdx.x) * count + k] = id_of_choice(best);
    }
    if (mine != best || k + 1 == count) continue;
    mine = 0;
    for (int i = threadIdx.x; i < n; i += kThreads) {
      const unsigned long long key = choice_key(to_float(row[i]), i);
      if (key < best && key > mine && !(suppressed && suppressed[i])) mine = key;
    }
  }
}
static_assert(kWarps == kWarp);

}  // namespace
}  // namespace cuda

void CudaBackend::top_k(const Tensor& x, const Tensor& suppressed, const Tensor& values, const Tensor& ids,
                        const Tensor& log_sums) {
  using namespace cuda;
  if (x.size() == 0) return;
  with_float(x.dtype(), "top_k", [&](auto type) {
    using T = typename decltype(type)::type;
    top_k_kernel<T><<<blocks_for(x.rows(), 1), kThreads, 0, stream()>>>(
        pointer<T>(x), x.width(), pointer<std::uint8_t>(suppressed), static_cast<int>(values.width()),
        pointer<float>(values), pointer<std::int32_t>(ids), pointer<float>(log_sums));
  });
  launch_check("top_k");
}

}  // namespace attend
