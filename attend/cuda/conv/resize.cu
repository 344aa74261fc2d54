// Resizing pictures: a thread per result, and on the way back a thread per place, which asks every result near it.
#include "attend/cuda/launch.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 256;

struct Axes {
  pictures::ResizeAxis rows, columns;
  std::int64_t channels;
};

Axes axes_of(const Resizing& args, const Tensor& x, const Tensor& y) {
  return {{args, x.dim(1), y.dim(1)}, {args, x.dim(2), y.dim(2)}, x.dim(3)};
}

template <class T>
__global__ void resize_kernel(Axes axes, const T* x, T* y, std::int64_t size) {
  const std::int64_t at = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (at >= size) return;
  const std::int64_t c = at % axes.channels, pixel = at / axes.channels;
  const std::int64_t b = pixel / axes.columns.results / axes.rows.results;
  const pictures::Taps hs = axes.rows.taps(pixel / axes.columns.results % axes.rows.results);
  const pictures::Taps ws = axes.columns.taps(pixel % axes.columns.results);
  float sum = 0;
  for (int i = 0; i < hs.count; ++i)
    for (int j = 0; j < ws.count; ++j)
      sum += hs.weight[i] * ws.weight[j] *
             to_float(x[((b * axes.rows.size + hs.at[i]) * axes.columns.size + ws.at[j]) * axes.channels + c]);
  y[at] = from_float<T>(sum);
}

template <class T>
__global__ void resize_backward_kernel(Axes axes, const T* dy, T* dx, bool accumulate, std::int64_t size) {
  const std::int64_t at = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (at >= size) return;
  const std::int64_t c = at % axes.channels, place = at / axes.channels;
  const std::int64_t w = place % axes.columns.size, h = place / axes.columns.size % axes.rows.size;
  const std::int64_t b = place / axes.columns.size / axes.rows.size;
  const pictures::Span hs = axes.rows.readers(h), ws = axes.columns.readers(w);
  float sum = 0;
  for (std::int64_t oh = hs.begin; oh < hs.end; ++oh) {
    const float down = axes.rows.share(oh, h);
    if (down == 0) continue;
    for (std::int64_t ow = ws.begin; ow < ws.end; ++ow) {
      const float weight = down * axes.columns.share(ow, w);
      if (weight != 0)
        sum += weight * to_float(dy[((b * axes.rows.results + oh) * axes.columns.results + ow) * axes.channels + c]);
    }
  }
  dx[at] = from_float<T>(accumulate ? to_float(dx[at]) + sum : sum);
}

}  // namespace
}  // namespace cuda

void CudaBackend::resize(const Resizing& args, const Tensor& x, const Tensor& y) {
  using namespace cuda;
  if (y.size() == 0) return;
  with_float(x.dtype(), "resize", [&](auto type) {
    using T = typename decltype(type)::type;
    resize_kernel<T><<<blocks_for(y.size(), kThreads), kThreads, 0, stream()>>>(axes_of(args, x, y), pointer<T>(x),
                                                                                pointer<T>(y), y.size());
  });
  launch_check("resize");
}

void CudaBackend::resize_backward(const Resizing& args, const Tensor& dy, const Grad& dx) {
  using namespace cuda;
  if (!dx || dx.into.size() == 0) return;
  with_float(dy.dtype(), "resize_backward", [&](auto type) {
    using T = typename decltype(type)::type;
    resize_backward_kernel<T><<<blocks_for(dx.into.size(), kThreads), kThreads, 0, stream()>>>(
        axes_of(args, dx.into, dy), pointer<T>(dy), pointer<T>(dx.into), dx.accumulate, dx.into.size());
  });
  launch_check("resize_backward");
}

}  // namespace attend
