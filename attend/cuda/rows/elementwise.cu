// Sums and products of tensors, b repeating along the leading axes of a.
#include "attend/cuda/launch.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 256;

struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Product {
  __device__ float operator()(float a, float b) const { return a * b; }
};

// N elements per thread; repeat, the length of b, is a multiple of N, or all of a.
template <class T, int N, class Function>
__global__ void binary_kernel(const T* a, const T* b, T* y, std::int64_t size, std::int64_t repeat, bool accumulate) {
  const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x) * N;
  if (i >= size) return;
  const std::int64_t at = repeat == size         ? i
                          : size <= 0xffffffffll ? static_cast<std::uint32_t>(i) % static_cast<std::uint32_t>(repeat)
                                                 : i % repeat;
  const Function function;
  if (i + N > size) {
    for (int j = 0; i + j < size; ++j)
      y[i + j] =
          from_float<T>(function(to_float(a[i + j]), to_float(b[at + j])) + (accumulate ? to_float(y[i + j]) : 0.0f));
    return;
  }
  float left[N], right[N];
  load(a + i, left);
  load(b + at, right);
#pragma unroll
  for (int j = 0; j < N; ++j) left[j] = function(left[j], right[j]);
  if (accumulate) {
    load(y + i, right);
#pragma unroll
    for (int j = 0; j < N; ++j) left[j] += right[j];
  }
  store(y + i, left);
}

template <class Function>
void binary(const CudaBackend& backend, const char* op, const Tensor& a, const Tensor& b, const Grad& y) {
  const std::int64_t size = a.size(), repeat = b.size();
  if (size == 0 || !y) return;
  with_float(a.dtype(), op, [&](auto type) {
    using T = typename decltype(type)::type;
    constexpr int N = kPack<T>;
    const T *left = pointer<T>(a), *right = pointer<T>(b);
    T* into = pointer<T>(y.into);
    const bool wide = aligned16(a) && aligned16(b) && aligned16(y.into) && (repeat == size || repeat % N == 0);
    if (wide)
      binary_kernel<T, N, Function><<<blocks_for(divide_up(size, N), kThreads), kThreads, 0, backend.stream()>>>(
          left, right, into, size, repeat, y.accumulate);
    else
      binary_kernel<T, 1, Function><<<blocks_for(size, kThreads), kThreads, 0, backend.stream()>>>(
          left, right, into, size, repeat, y.accumulate);
  });
  launch_check(op);
}

}  // namespace
}  // namespace cuda

void CudaBackend::add(const Tensor& a, const Tensor& b, const Tensor& y) {
  cuda::binary<cuda::Sum>(*this, "add", a, b, {.into = y, .accumulate = false});
}

void CudaBackend::multiply(const Tensor& a, const Tensor& b, const Grad& y) {
  cuda::binary<cuda::Product>(*this, "multiply", a, b, y);
}

}  // namespace attend
