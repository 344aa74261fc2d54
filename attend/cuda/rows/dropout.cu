// Dropout on its own (Srivastava et al. 2014). The backward pass is the same kernel on dy.
#include "attend/cuda/rows/dropout.cuh"

#include "attend/cuda/launch.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 256;

template <class T, int N>
__global__ void dropout_kernel(const T* x, T* y, std::int64_t size, DropoutMask mask, bool accumulate) {
  const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x) * N;
  if (i >= size) return;
  const int count = static_cast<int>(size - i < N ? size - i : N);
  float factor[N], values[N];
  if (count == N) load(x + i, values);  // under way while the mask is drawn
  mask.factors(mask.read_seed(), static_cast<std::uint64_t>(i), factor);
  if (count < N) {
#pragma unroll
    for (int j = 0; j < N; ++j)
      if (j < count)
        y[i + j] = from_float<T>(to_float(x[i + j]) * factor[j] + (accumulate ? to_float(y[i + j]) : 0.0f));
    return;
  }
#pragma unroll
  for (int j = 0; j < N; ++j) values[j] *= factor[j];
  if (accumulate) {
    load(y + i, factor);
#pragma unroll
    for (int j = 0; j < N; ++j) values[j] += factor[j];
  }
  store(y + i, values);
}

}  // namespace
}  // namespace cuda

void CudaBackend::dropout(const Tensor& x, const Dropout& dropout, const Grad& y) {
  using namespace cuda;
  if (x.size() == 0 || !y) return;
  if (dropout.rate <= 0) return scale(x, 1, y);
  with_float(x.dtype(), "dropout", [&](auto type) {
    using T = typename decltype(type)::type;
    constexpr int N = kPack<T>;
    const DropoutMask mask(dropout);
    const auto launch = [&]<int kAtOnce>() {
      dropout_kernel<T, kAtOnce><<<blocks_for(divide_up(x.size(), kAtOnce), kThreads), kThreads, 0, stream()>>>(
          pointer<T>(x), pointer<T>(y.into), x.size(), mask, y.accumulate);
    };
    if (aligned16(x) && aligned16(y.into) && (dropout.group == 1 || dropout.group % N == 0))
      launch.template operator()<N>();
    else
      launch.template operator()<1>();
  });
  launch_check("dropout");
}

}  // namespace attend
