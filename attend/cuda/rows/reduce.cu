// Sum, mean and maximum over the middle axis: x [A, N, C] -> y [A, C], and the backward passes.
#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/block.cuh"
#include "attend/cuda/rows/column_sums.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kChunk = 64;  // entries of N that one thread sums when there are few columns

constexpr std::int64_t kWarpRows = 1024;  // rows from which a warp each fills the device

struct Extents {
  std::int64_t outer, length, width;  // A, N, C
};

// P elements of the last axis per thread, all of N.
template <class T, class Y, int P>
__global__ void sum_kernel(const T* x, Y* y, Extents extents, float scale, bool accumulate) {
  const std::int64_t packs = extents.width / P;
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= extents.outer * packs) return;
  const std::int64_t a = i / packs, c = (i - a * packs) * P;
  x += a * extents.length * extents.width + c;
  y += a * extents.width + c;
  float sum[P] = {};
#pragma unroll 4
  for (std::int64_t n = 0; n < extents.length; ++n) {
    float values[P];
    load(x + n * extents.width, values);
#pragma unroll
    for (int j = 0; j < P; ++j) sum[j] += values[j];
  }
  float before[P] = {};
  if (accumulate) load(y, before);
#pragma unroll
  for (int j = 0; j < P; ++j) sum[j] = sum[j] * scale + before[j];
  store(y, sum);
}

// Sums over the last axis (C is 1): a warp per row. Threads that took a row each would read a whole line for every
// element.
template <class T, class Y, int P>
__global__ void sum_rows_kernel(const T* x, Y* y, Extents extents, float scale, bool accumulate) {
  const std::int64_t a = blockIdx.x * static_cast<std::int64_t>(kThreads / kWarp) + threadIdx.x / kWarp;
  if (a >= extents.outer) return;
  x += a * extents.length;
  float sum = 0;
#pragma unroll 4
  for (std::int64_t n = threadIdx.x % kWarp * P; n < extents.length; n += kWarp * P) {
    float values[P];
    load(x + n, values);
#pragma unroll
    for (int j = 0; j < P; ++j) sum += values[j];
  }
  sum = warp_sum(sum) * scale;
  if (threadIdx.x % kWarp == 0) y[a] = from_float<Y>(accumulate ? to_float(y[a]) + sum : sum);
}

// The same over kChunk entries of N, into partial [chunks, A, C].
template <class T>
__global__ void sum_chunk_kernel(const T* x, float* partial, Extents extents) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= extents.outer * extents.width) return;
  const std::int64_t a = i / extents.width, c = i - a * extents.width;
  const std::int64_t begin = blockIdx.y * kChunk, end = min(begin + kChunk, extents.length);
  x += a * extents.length * extents.width + c;
  float sum = 0;
#pragma unroll 8
  for (std::int64_t n = begin; n < end; ++n) sum += to_float(x[n * extents.width]);
  partial[blockIdx.y * extents.outer * extents.width + i] = sum;
}

template <class T>
__global__ void max_kernel(const T* x, T* y, std::int32_t* index, Extents extents, bool accumulate) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= extents.outer * extents.width) return;
  const std::int64_t a = i / extents.width, c = i - a * extents.width;
  x += a * extents.length * extents.width + c;
  float best = -INFINITY;
  std::int32_t where = 0;
#pragma unroll 4
  for (std::int64_t n = 0; n < extents.length; ++n) {
    const float value = to_float(x[n * extents.width]);
    if (value > best || (n == 0 && value == best) || (value != value && best == best)) {
      best = value;
      where = static_cast<std::int32_t>(n);
    }
  }
  y[i] = from_float<T>(accumulate ? to_float(y[i]) + best : best);
  if (index) index[i] = where;
}

template <class T, int P>
__global__ void reduce_backward_kernel(const T* dy, const std::int32_t* index, T* dx, Extents extents, float scale,
                                       bool accumulate) {
  const std::int64_t packs = extents.width / P;
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= extents.outer * extents.length * packs) return;
  const std::int64_t row = i / packs, c = (i - row * packs) * P;
  const std::int64_t a = row / extents.length, n = row - a * extents.length;
  float d[P], before[P] = {};
  load(dy + a * extents.width + c, d);
  if (accumulate) load(dx + row * extents.width + c, before);
#pragma unroll
  for (int j = 0; j < P; ++j) {
    if (index && index[a * extents.width + c + j] != n) d[j] = 0;
    d[j] = d[j] * scale + before[j];
  }
  store(dx + row * extents.width + c, d);
}

Extents extents_of(const Tensor& x) { return {x.dim(0), x.dim(1), x.dim(2)}; }

}  // namespace
}  // namespace cuda

void CudaBackend::reduce(Reduction kind, const Tensor& x, const Grad& y, const Tensor& index) {
  using namespace cuda;
  const Extents extents = extents_of(x);
  const std::int64_t columns = extents.outer * extents.width;
  if (columns == 0) return;
  const float scale = kind == Reduction::mean && extents.length > 0 ? 1.0f / extents.length : 1.0f;
  with_float(x.dtype(), "reduce", [&](auto type) {
    using T = typename decltype(type)::type;
    constexpr int P = kPack<T>;
    const std::int64_t chunks = divide_up(extents.length, kChunk);
    if (kind == Reduction::max) {
      max_kernel<T><<<blocks_for(columns, kThreads), kThreads, 0, stream()>>>(
          pointer<T>(x), pointer<T>(y.into), pointer<std::int32_t>(index), extents, y.accumulate);
    } else if (extents.width == 1 && extents.outer >= kWarpRows) {
      with_float(y.into.dtype(), "reduce", [&](auto result) {
        using Y = typename decltype(result)::type;
        const bool wide = extents.length % P == 0 && aligned16(x);
        const auto kernel = wide ? sum_rows_kernel<T, Y, P> : sum_rows_kernel<T, Y, 1>;
        kernel<<<blocks_for(extents.outer, kThreads / kWarp), kThreads, 0, stream()>>>(
            pointer<T>(x), pointer<Y>(y.into), extents, scale, y.accumulate);
      });
    } else if (chunks > 1 && chunks <= 65535 && columns < 65536) {  // too few columns to fill the device
      auto* partial = static_cast<float*>(scratch(static_cast<std::size_t>(chunks * columns) * sizeof(float)));
      const dim3 grid(blocks_for(columns, kThreads), static_cast<unsigned>(chunks));
      sum_chunk_kernel<T><<<grid, kThreads, 0, stream()>>>(pointer<T>(x), partial, extents);
      launch_check("reduce chunks");
      sum_partials(*this, {.data = partial, .chunks = chunks, .width = columns, .stride = columns, .scale = scale}, y);
    } else if (y.into.dtype() == x.dtype() && extents.width % P == 0 && aligned16(x) && aligned16(y.into)) {
      sum_kernel<T, T, P><<<blocks_for(columns / P, kThreads), kThreads, 0, stream()>>>(
          pointer<T>(x), pointer<T>(y.into), extents, scale, y.accumulate);
    } else {
      with_float(y.into.dtype(), "reduce", [&](auto result) {  // bf16 may be summed into f32
        using Y = typename decltype(result)::type;
        sum_kernel<T, Y, 1><<<blocks_for(columns, kThreads), kThreads, 0, stream()>>>(pointer<T>(x), pointer<Y>(y.into),
                                                                                      extents, scale, y.accumulate);
      });
    }
  });
  launch_check("reduce");
}

void CudaBackend::reduce_backward(Reduction kind, const Tensor& dy, const Tensor& index, const Grad& dx) {
  using namespace cuda;
  if (!dx || dx.into.size() == 0) return;
  const Extents extents = extents_of(dx.into);
  const float scale = kind == Reduction::mean ? 1.0f / extents.length : 1.0f;
  const std::int64_t size = dx.into.size();
  with_float(dy.dtype(), "reduce_backward", [&](auto type) {
    using T = typename decltype(type)::type;
    constexpr int P = kPack<T>;
    const std::int32_t* where = kind == Reduction::max ? pointer<std::int32_t>(index) : nullptr;
    if (extents.width % P == 0 && aligned16(dy) && aligned16(dx.into))
      reduce_backward_kernel<T, P><<<blocks_for(size / P, kThreads), kThreads, 0, stream()>>>(
          pointer<T>(dy), where, pointer<T>(dx.into), extents, scale, dx.accumulate);
    else
      reduce_backward_kernel<T, 1><<<blocks_for(size, kThreads), kThreads, 0, stream()>>>(
          pointer<T>(dy), where, pointer<T>(dx.into), extents, scale, dx.accumulate);
  });
  launch_check("reduce_backward");
}

}  // namespace attend
