// Resizing images: a pack of results at a time, and on the way back a pack of places, which asks every result near
// it. Where a place has many readers and a row few places (one pixel spread over an image), threads share the readers
// and add up their parts in order.
#include "attend/cuda/conv/image_rows.cuh"

namespace attend {
namespace cuda {
namespace {

struct Axes {
  images::ResizeAxis rows, columns;
  int channels;
};

Axes axes_of(const Resizing& args, const Tensor& x, const Tensor& y) {
  return {{args, x.dim(1), y.dim(1)}, {args, x.dim(2), y.dim(2)}, static_cast<int>(x.dim(3))};
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kRowThreads) resize_kernel(Axes axes, const T* x, T* y) {
  const ImageRow at(axes.rows.results);
  const images::Taps hs = axes.rows.taps(at.row);
  const int packs = axes.channels / kWidth, items = static_cast<int>(axes.columns.results) * packs;
  x += at.image * axes.rows.size * axes.columns.size * axes.channels;
  y += blockIdx.x * axes.columns.results * axes.channels;
  for (int item = threadIdx.x; item < items; item += kRowThreads) {
    const int column = item / packs, channel = (item - column * packs) * kWidth;
    const images::Taps ws = axes.columns.taps(column);
    float sum[kWidth] = {};
    for (int i = 0; i < hs.count; ++i)
      for (int j = 0; j < ws.count; ++j) {
        float value[kWidth];
        load<kWidth>(x + (hs.at[i] * axes.columns.size + ws.at[j]) * axes.channels + channel, value);
        const float weight = hs.weight[i] * ws.weight[j];
#pragma unroll
        for (int k = 0; k < kWidth; ++k) sum[k] += weight * value[k];
      }
    store<kWidth>(y + static_cast<std::int64_t>(item) * kWidth, sum);
  }
}

// What readers number `first`, `first + step` .. of a place gave it, of those in hs x ws.
template <class T, int kWidth>
__device__ __forceinline__ void sum_readers(const Axes& axes, const T* dy, int row, int column, int first, int step,
                                            float (&sum)[kWidth]) {
  const images::Span hs = axes.rows.readers(row), ws = axes.columns.readers(column);
  const int across = static_cast<int>(ws.end - ws.begin), count = static_cast<int>(hs.end - hs.begin) * across;
  for (int i = first; i < count; i += step) {
    const std::int64_t oh = hs.begin + i / across, ow = ws.begin + i % across;
    const float weight = axes.rows.share(oh, row) * axes.columns.share(ow, column);
    if (weight == 0) continue;
    float value[kWidth];
    load<kWidth>(dy + (oh * axes.columns.results + ow) * axes.channels, value);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) sum[k] += weight * value[k];
  }
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kRowThreads)
    resize_backward_kernel(Axes axes, const T* dy, T* dx, bool accumulate, int shares) {
  __shared__ float parts[kRowThreads][kWidth];
  const ImageRow at(axes.rows.size);
  const int packs = axes.channels / kWidth, items = static_cast<int>(axes.columns.size) * packs;
  const int together = kRowThreads / shares, share = threadIdx.x / together;
  dy += at.image * axes.rows.results * axes.columns.results * axes.channels;
  dx += blockIdx.x * axes.columns.size * axes.channels;
  for (int first = 0; first < items; first += together) {
    const int item = first + threadIdx.x % together, column = item / packs;
    const bool inside = item < items && share < shares;
    float sum[kWidth] = {};
    if (inside) sum_readers<T, kWidth>(axes, dy + (item - column * packs) * kWidth, at.row, column, share, shares, sum);
    if (shares > 1) {
#pragma unroll
      for (int k = 0; k < kWidth; ++k) parts[threadIdx.x][k] = sum[k];
      __syncthreads();
      for (int other = 1; share == 0 && other < shares; ++other)
#pragma unroll
        for (int k = 0; k < kWidth; ++k) sum[k] += parts[threadIdx.x + other * together][k];
      __syncthreads();
    }
    if (!inside || share > 0) continue;
    T* to = dx + static_cast<std::int64_t>(item) * kWidth;
    if (accumulate) {
      float before[kWidth];
      load<kWidth>(to, before);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) sum[k] += before[k];
    }
    store<kWidth>(to, sum);
  }
}

// How many threads share a place's readers.
int shares_of(const Axes& axes, int width) {
  const std::int64_t items = axes.columns.size * axes.channels / width,
                     readers = axes.rows.results / axes.rows.size * (axes.columns.results / axes.columns.size);
  return static_cast<int>(std::clamp<std::int64_t>(std::min(kRowThreads / items, readers / 4), 1, kRowThreads));
}

}  // namespace
}  // namespace cuda

void CudaBackend::resize(const Resizing& args, const Tensor& x, const Tensor& y) {
  using namespace cuda;
  if (y.size() == 0) return;
  with_channel_packs(x, y, "resize", [&](auto type, auto width) {
    using T = typename decltype(type)::type;
    resize_kernel<T, decltype(width)::value>
        <<<row_blocks(y), kRowThreads, 0, stream()>>>(axes_of(args, x, y), pointer<T>(x), pointer<T>(y));
  });
  launch_check("resize");
}

void CudaBackend::resize_backward(const Resizing& args, const Tensor& dy, const Grad& dx) {
  using namespace cuda;
  if (!dx || dx.into.size() == 0) return;
  with_channel_packs(dy, dx.into, "resize_backward", [&](auto type, auto width) {
    using T = typename decltype(type)::type;
    const Axes axes = axes_of(args, dx.into, dy);
    resize_backward_kernel<T, decltype(width)::value><<<row_blocks(dx.into), kRowThreads, 0, stream()>>>(
        axes, pointer<T>(dy), pointer<T>(dx.into), dx.accumulate, shares_of(axes, decltype(width)::value));
  });
  launch_check("resize_backward");
}

}  // namespace attend
