// y = alpha·x between strided rows of any two float formats: copy, cast, scale and accumulate.
#include "attend/cuda/launch.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 256;

struct Extents {
  std::int64_t rows, width, x_stride, y_stride;
};

// N elements per thread. A whole number of packs fits into a row, or there is only one row and a tail.
template <class X, class Y, int N>
__global__ void scale_kernel(const X* x, Y* y, Extents extents, float alpha, bool accumulate) {
  const std::int64_t packs = (extents.width + N - 1) / N;
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= extents.rows * packs) return;
  const std::int64_t row = extents.rows == 1 ? 0 : i / packs;
  const std::int64_t column = (i - row * packs) * N;
  x += row * extents.x_stride + column;
  y += row * extents.y_stride + column;
  if (column + N > extents.width) {
    for (std::int64_t j = 0; column + j < extents.width; ++j)
      y[j] = from_float<Y>(alpha * to_float(x[j]) + (accumulate ? to_float(y[j]) : 0.0f));
    return;
  }
  float values[N];
  load(x, values);
#pragma unroll
  for (int j = 0; j < N; ++j) values[j] *= alpha;
  if (accumulate) {
    float before[N];
    load(y, before);
#pragma unroll
    for (int j = 0; j < N; ++j) values[j] += before[j];
  }
  store(y, values);
}

template <class X, class Y>
void scale(const CudaBackend& backend, const Tensor& x, const Grad& y, const Extents& extents, float alpha) {
  // Four elements are 16 bytes of f32 or 8 of bf16; between two bf16, eight.
  constexpr int N = sizeof(X) == 2 && sizeof(Y) == 2 ? 8 : 4;
  const bool wide = extents.rows == 1 ? aligned16(x) && aligned16(y.into)
                                      : extents.width % N == 0 && rows_aligned16(x) && rows_aligned16(y.into);
  if (wide)
    scale_kernel<X, Y, N>
        <<<blocks_for(extents.rows * divide_up(extents.width, N), kThreads), kThreads, 0, backend.stream()>>>(
            pointer<X>(x), pointer<Y>(y.into), extents, alpha, y.accumulate);
  else
    scale_kernel<X, Y, 1><<<blocks_for(extents.rows * extents.width, kThreads), kThreads, 0, backend.stream()>>>(
        pointer<X>(x), pointer<Y>(y.into), extents, alpha, y.accumulate);
  launch_check("scale");
}

template <class T>
__global__ void scale_by_kernel(T* x, const float* factor, std::int64_t size) {
  constexpr int N = kPack<T>;
  const float alpha = *factor;
  if (alpha == 1.0f) return;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads * N;
  for (std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x) * N; i < size; i += step) {
    for (std::int64_t j = i; j < min(i + N, size); ++j) x[j] = from_float<T>(alpha * to_float(x[j]));
  }
}

}  // namespace
}  // namespace cuda

void CudaBackend::scale(const Tensor& x, float alpha, const Grad& y) {
  using namespace cuda;
  if (x.size() == 0 || !y) return;
  Extents extents = {x.rows(), x.width(), x.row_stride(), y.into.row_stride()};
  if (x.contiguous() && y.into.contiguous()) {
    extents = {1, x.size(), 0, 0};
    if (alpha == 1 && !y.accumulate && x.dtype() == y.into.dtype()) {
      const std::size_t bytes = static_cast<std::size_t>(x.size()) * bytes_of(x.dtype());
      cuda_check(cudaMemcpyAsync(y.into.raw(), x.raw(), bytes, cudaMemcpyDeviceToDevice, stream()), "scale");
      return;
    }
  } else {
    check(x.width() == y.into.width(), "scale: cuda: rows of {} and rows of {}", x.shape(), y.into.shape());
  }
  with_float(x.dtype(), "scale", [&](auto from) {
    with_float(y.into.dtype(), "scale", [&](auto to) {
      using X = typename decltype(from)::type;
      using Y = typename decltype(to)::type;
      cuda::scale<X, Y>(*this, x, y, extents, alpha);
    });
  });
}

void CudaBackend::scale_by(const Tensor& x, const Tensor& factor) {
  using namespace cuda;
  if (x.size() == 0) return;
  with_float(x.dtype(), "scale_by", [&](auto type) {
    using T = typename decltype(type)::type;
    // A few blocks for every multiprocessor: most often there is nothing to do.
    constexpr std::int64_t kBlocks = 1024;
    const auto blocks = static_cast<unsigned>(std::min(divide_up(x.size(), kThreads * kPack<T>), kBlocks));
    scale_by_kernel<T><<<blocks, kThreads, 0, stream()>>>(pointer<T>(x), pointer<float>(factor), x.size());
  });
  launch_check("scale_by");
}

}  // namespace attend
