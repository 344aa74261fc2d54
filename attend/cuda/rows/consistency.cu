// The divergence between two predictions (Liang et al. 2021): Σ (p - q)(a - b) over a row a and the row b that belongs
// to it. A block takes one pair of rows; the second and third look at them come from the cache.
#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/block.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 512;

template <class T>
__global__ void __launch_bounds__(kThreads)
    consistency_kernel(const T* logits, std::int64_t count, std::int64_t width, float4* moments) {
  __shared__ float shared[kWarp];
  const T* a = logits + blockIdx.x * width;
  const T* b = a + count * width;
  float max_a = -INFINITY, max_b = -INFINITY;
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads)
    max_a = fmaxf(max_a, to_float(a[i])), max_b = fmaxf(max_b, to_float(b[i]));
  max_a = block_max<kThreads>(max_a, shared), max_b = block_max<kThreads>(max_b, shared);
  float sum_a = 0, sum_b = 0, apart_a = 0, apart_b = 0;
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
    const float x = to_float(a[i]), y = to_float(b[i]);
    const float p = __expf(x - max_a), q = __expf(y - max_b);
    sum_a += p, sum_b += q;
    apart_a += p * (x - y), apart_b += q * (x - y);
  }
  sum_a = block_sum<kThreads>(sum_a, shared), sum_b = block_sum<kThreads>(sum_b, shared);
  apart_a = block_sum<kThreads>(apart_a, shared), apart_b = block_sum<kThreads>(apart_b, shared);
  if (threadIdx.x == 0)
    moments[blockIdx.x] = make_float4(max_a + logf(sum_a), max_b + logf(sum_b), apart_a / sum_a, apart_b / sum_b);
}

__global__ void __launch_bounds__(kThreads)
    consistency_mean_kernel(const float4* moments, std::int64_t count, float* mean) {
  __shared__ float shared[kWarp];
  float sum = 0;
  for (std::int64_t row = threadIdx.x; row < count; row += kThreads) sum += moments[row].z - moments[row].w;
  sum = block_sum<kThreads>(sum, shared);
  if (threadIdx.x == 0) *mean = sum / static_cast<float>(count);
}

// da = p (d - E_p d) + p - q and db = -q (d - E_q d) - p + q, with d = a - b.
template <class T>
__global__ void __launch_bounds__(kThreads)
    consistency_backward_kernel(const float* dmean, const T* logits, const float4* moments, std::int64_t count,
                                std::int64_t width, bool accumulate, T* dlogits) {
  const T* a = logits + blockIdx.x * width;
  const T* b = a + count * width;
  T* da = dlogits + blockIdx.x * width;
  T* db = da + count * width;
  const float4 m = moments[blockIdx.x];
  const float scale = *dmean / static_cast<float>(count);
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
    const float x = to_float(a[i]), y = to_float(b[i]);
    const float p = __expf(x - m.x), q = __expf(y - m.y);
    float dx = (p * (x - y - m.z) + p - q) * scale, dy = (q * (m.w - x + y) - p + q) * scale;
    if (accumulate) dx += to_float(da[i]), dy += to_float(db[i]);
    da[i] = from_float<T>(dx), db[i] = from_float<T>(dy);
  }
}

}  // namespace
}  // namespace cuda

void CudaBackend::consistency(const Tensor& logits, const Tensor& moments, const Tensor& mean) {
  using namespace cuda;
  const std::int64_t count = logits.rows() / 2;
  auto* const stored = reinterpret_cast<float4*>(pointer<float>(moments));
  with_float(logits.dtype(), "consistency", [&](auto type) {
    using T = typename decltype(type)::type;
    consistency_kernel<T>
        <<<blocks_for(count, 1), kThreads, 0, stream()>>>(pointer<T>(logits), count, logits.width(), stored);
  });
  launch_check("consistency");
  consistency_mean_kernel<<<1, kThreads, 0, stream()>>>(stored, count, pointer<float>(mean));
  launch_check("consistency mean");
}

void CudaBackend::consistency_backward(const Tensor& dmean, const Tensor& logits, const Tensor& moments,
                                       const Grad& dlogits) {
  using namespace cuda;
  if (!dlogits) return;
  const std::int64_t count = logits.rows() / 2;
  with_float(logits.dtype(), "consistency_backward", [&](auto type) {
    using T = typename decltype(type)::type;
    consistency_backward_kernel<T><<<blocks_for(count, 1), kThreads, 0, stream()>>>(
        pointer<float>(dmean), pointer<T>(logits), reinterpret_cast<const float4*>(pointer<float>(moments)), count,
        logits.width(), dlogits.accumulate, pointer<T>(dlogits.into));
  });
  launch_check("consistency_backward");
}

}  // namespace attend
