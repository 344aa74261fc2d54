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

// The same where `group` elements, a multiple of N, share a draw.
template <class T, int N>
__global__ void drop_groups_kernel(const T* x, T* y, std::int64_t size, std::int64_t group, DropoutMask mask,
                                   bool accumulate) {
  const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x) * N;
  if (i >= size) return;
  float values[N], factor[1], before[N];
  load(x + i, values);
  mask.factors(mask.read_seed(), static_cast<std::uint64_t>(i / group), factor);
  if (accumulate) load(y + i, before);
#pragma unroll
  for (int j = 0; j < N; ++j) values[j] = values[j] * factor[0] + (accumulate ? before[j] : 0.0f);
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
    const auto run_groups = [&]<int kAtOnce>() {
      drop_groups_kernel<T, kAtOnce><<<blocks_for(divide_up(x.size(), kAtOnce), kThreads), kThreads, 0, stream()>>>(
          pointer<T>(x), pointer<T>(y.into), x.size(), dropout.group, mask, y.accumulate);
    };
    if (dropout.group > 1 && dropout.group % N == 0 && aligned16(x) && aligned16(y.into))
      run_groups.template operator()<N>();
    else if (dropout.group > 1)
      run_groups.template operator()<1>();
    else if (aligned16(x) && aligned16(y.into))
      dropout_kernel<T, N><<<blocks_for(divide_up(x.size(), N), kThreads), kThreads, 0, stream()>>>(
          pointer<T>(x), pointer<T>(y.into), x.size(), mask, y.accumulate);
    else
      dropout_kernel<T, 1><<<blocks_for(x.size(), kThreads), kThreads, 0, stream()>>>(pointer<T>(x), pointer<T>(y.into),
                                                                                      x.size(), mask, y.accumulate);
  });
  launch_check("dropout");
}

}  // namespace attend
