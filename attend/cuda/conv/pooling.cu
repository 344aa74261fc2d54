// Pooling: a pack of results at a time, and on the way back a pack of places, which asks every window that read it.
#include "attend/cuda/conv/image_rows.cuh"

namespace attend {
namespace cuda {
namespace {

struct Pools {
  Pooling args;
  int channels;
  images::PoolAxis rows, columns;
};

Pools pools_of(const Pooling& args, const Tensor& x, const Tensor& y) {
  return {args, static_cast<int>(x.dim(3)), images::rows_of(args, x.dim(1), y.dim(1)),
          images::columns_of(args, x.dim(2), y.dim(2))};
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kRowThreads) pooling_kernel(Pools p, const T* x, T* y, std::int32_t* index) {
  const ImageRow at(p.rows.results);
  const images::Span hs = p.rows.reads(at.row);
  const int packs = p.channels / kWidth, items = static_cast<int>(p.columns.results) * packs;
  const bool max = p.args.kind == PoolKind::max;
  const std::int64_t row = blockIdx.x * p.columns.results * p.channels;
  x += at.image * p.rows.size * p.columns.size * p.channels;
  for (int item = threadIdx.x; item < items; item += kRowThreads) {
    const int column = item / packs, channel = (item - column * packs) * kWidth;
    const images::Span ws = p.columns.reads(column);
    float sum[kWidth];
    std::int32_t where[kWidth];
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      sum[k] = max ? -INFINITY : 0.0f;
      where[k] = static_cast<std::int32_t>(hs.begin * p.columns.size + ws.begin);
    }
    for (std::int64_t h = hs.begin; h < hs.end; ++h)
      for (std::int64_t w = ws.begin; w < ws.end; ++w) {
        float value[kWidth];
        load<kWidth>(x + (h * p.columns.size + w) * p.channels + channel, value);
#pragma unroll
        for (int k = 0; k < kWidth; ++k)
          if (!max)
            sum[k] += value[k];
          else if (value[k] > sum[k] || (value[k] != value[k] && sum[k] == sum[k]))
            sum[k] = value[k], where[k] = static_cast<std::int32_t>(h * p.columns.size + w);
      }
    const float scale = max ? 1.0f : 1.0f / images::divisor(p.args, p.rows, p.columns, at.row, column);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) sum[k] *= scale;
    const std::int64_t to = row + static_cast<std::int64_t>(item) * kWidth;
    store<kWidth>(y + to, sum);
    if (!index) continue;
#pragma unroll
    for (int k = 0; k < kWidth; ++k) index[to + k] = where[k];
  }
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kRowThreads)
    pooling_backward_kernel(Pools p, const T* dy, const std::int32_t* index, T* dx, bool accumulate) {
  const ImageRow at(p.rows.size);
  const images::Span hs = p.rows.readers(at.row);
  const int packs = p.channels / kWidth, items = static_cast<int>(p.columns.size) * packs;
  const bool max = p.args.kind == PoolKind::max;
  dx += blockIdx.x * p.columns.size * p.channels;
  for (int item = threadIdx.x; item < items; item += kRowThreads) {
    const int column = item / packs, channel = (item - column * packs) * kWidth;
    const images::Span ws = p.columns.readers(column);
    T* to = dx + static_cast<std::int64_t>(item) * kWidth;
    float sum[kWidth] = {};
    if (accumulate) load<kWidth>(to, sum);
    for (std::int64_t oh = hs.begin; oh < hs.end; ++oh)
      for (std::int64_t ow = ws.begin; ow < ws.end; ++ow) {
        const std::int64_t from = ((at.image * p.rows.results + oh) * p.columns.results + ow) * p.channels + channel;
        float d[kWidth];
        load<kWidth>(dy + from, d);
        const float scale = max ? 1.0f : 1.0f / images::divisor(p.args, p.rows, p.columns, oh, ow);
#pragma unroll
        for (int k = 0; k < kWidth; ++k)
          if (!max || index[from + k] == at.row * p.columns.size + column) sum[k] += d[k] * scale;
      }
    store<kWidth>(to, sum);
  }
}

}  // namespace
}  // namespace cuda

void CudaBackend::pooling(const Pooling& args, const Tensor& x, const Tensor& y, const Tensor& index) {
  using namespace cuda;
  if (y.size() == 0) return;
  with_channel_packs(x, y, "pooling", [&](auto type, auto width) {
    using T = typename decltype(type)::type;
    pooling_kernel<T, decltype(width)::value><<<row_blocks(y), kRowThreads, 0, stream()>>>(
        pools_of(args, x, y), pointer<T>(x), pointer<T>(y), pointer<std::int32_t>(index));
  });
  launch_check("pooling");
}

void CudaBackend::pooling_backward(const Pooling& args, const Tensor& dy, const Tensor& index, const Grad& dx) {
  using namespace cuda;
  if (!dx || dx.into.size() == 0) return;
  with_channel_packs(dy, dx.into, "pooling_backward", [&](auto type, auto width) {
    using T = typename decltype(type)::type;
    pooling_backward_kernel<T, decltype(width)::value><<<row_blocks(dx.into), kRowThreads, 0, stream()>>>(
        pools_of(args, dx.into, dy), pointer<T>(dy), pointer<std::int32_t>(index), pointer<T>(dx.into), dx.accumulate);
  });
  launch_check("pooling_backward");
}

}  // namespace attend
