// Pooling: a thread per result, and on the way back a thread per place, which asks every window that read it.
#include "attend/cuda/launch.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 256;

struct Pools {
  Pooling args;
  std::int64_t channels;
  pictures::PoolAxis rows, columns;
};

Pools pools_of(const Pooling& args, const Tensor& x, const Tensor& y) {
  return {args, x.dim(3), pictures::rows_of(args, x.dim(1), y.dim(1)), pictures::columns_of(args, x.dim(2), y.dim(2))};
}

template <class T>
__global__ void pooling_kernel(Pools p, const T* x, T* y, std::int32_t* index, std::int64_t size) {
  const std::int64_t at = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (at >= size) return;
  const std::int64_t c = at % p.channels, pixel = at / p.channels;
  const std::int64_t ow = pixel % p.columns.results, oh = pixel / p.columns.results % p.rows.results;
  const std::int64_t b = pixel / p.columns.results / p.rows.results;
  const pictures::Span hs = p.rows.reads(oh), ws = p.columns.reads(ow);
  const bool max = p.args.kind == PoolKind::max;
  float sum = max ? -INFINITY : 0.0f;
  std::int64_t where = hs.begin * p.columns.size + ws.begin;
  for (std::int64_t h = hs.begin; h < hs.end; ++h)
    for (std::int64_t w = ws.begin; w < ws.end; ++w) {
      const float value = to_float(x[((b * p.rows.size + h) * p.columns.size + w) * p.channels + c]);
      if (!max)
        sum += value;
      else if (value > sum || (value != value && sum == sum))
        sum = value, where = h * p.columns.size + w;
    }
  y[at] = from_float<T>(max ? sum : sum * (1.0f / pictures::divisor(p.args, p.rows, p.columns, oh, ow)));
  if (index) index[at] = static_cast<std::int32_t>(where);
}

template <class T>
__global__ void pooling_backward_kernel(Pools p, const T* dy, const std::int32_t* index, T* dx, bool accumulate,
                                        std::int64_t size) {
  const std::int64_t at = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (at >= size) return;
  const std::int64_t c = at % p.channels, place = at / p.channels;
  const std::int64_t w = place % p.columns.size, h = place / p.columns.size % p.rows.size;
  const std::int64_t b = place / p.columns.size / p.rows.size;
  const pictures::Span hs = p.rows.readers(h), ws = p.columns.readers(w);
  float sum = 0;
  for (std::int64_t oh = hs.begin; oh < hs.end; ++oh)
    for (std::int64_t ow = ws.begin; ow < ws.end; ++ow) {
      const std::int64_t from = ((b * p.rows.results + oh) * p.columns.results + ow) * p.channels + c;
      const float d = to_float(dy[from]);
      if (p.args.kind != PoolKind::max)
        sum += d * (1.0f / pictures::divisor(p.args, p.rows, p.columns, oh, ow));
      else if (index[from] == h * p.columns.size + w)
        sum += d;
    }
  dx[at] = from_float<T>(accumulate ? to_float(dx[at]) + sum : sum);
}

}  // namespace
}  // namespace cuda

void CudaBackend::pooling(const Pooling& args, const Tensor& x, const Tensor& y, const Tensor& index) {
  using namespace cuda;
  if (y.size() == 0) return;
  with_float(x.dtype(), "pooling", [&](auto type) {
    using T = typename decltype(type)::type;
    pooling_kernel<T><<<blocks_for(y.size(), kThreads), kThreads, 0, stream()>>>(
        pools_of(args, x, y), pointer<T>(x), pointer<T>(y), pointer<std::int32_t>(index), y.size());
  });
  launch_check("pooling");
}

void CudaBackend::pooling_backward(const Pooling& args, const Tensor& dy, const Tensor& index, const Grad& dx) {
  using namespace cuda;
  if (!dx || dx.into.size() == 0) return;
  with_float(dy.dtype(), "pooling_backward", [&](auto type) {
    using T = typename decltype(type)::type;
    pooling_backward_kernel<T><<<blocks_for(dx.into.size(), kThreads), kThreads, 0, stream()>>>(
        pools_of(args, dx.into, dy), pointer<T>(dy), pointer<std::int32_t>(index), pointer<T>(dx.into), dx.accumulate,
        dx.into.size());
  });
  launch_check("pooling_backward");
}

}  // namespace attend
