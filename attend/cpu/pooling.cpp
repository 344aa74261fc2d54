// Pooling: each result over its window (rows/pooling.cpp), and on the way back each place over the windows that read
// it, so that no two threads write to one place.
#include <algorithm>
#include <vector>

#include "attend/base/error.h"
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/elements.h"
#include "attend/cpu/parallel.h"

namespace attend {
namespace cpu {
namespace {

struct Pools {
  Pooling args;
  std::int64_t batch, channels;
  images::PoolAxis rows, columns;

  Pools(const Pooling& pooling, const Tensor& x, const Tensor& y)
      : args(pooling),
        batch(x.dim(0)),
        channels(x.dim(3)),
        rows(images::rows_of(pooling, x.dim(1), y.dim(1))),
        columns(images::columns_of(pooling, x.dim(2), y.dim(2))) {}
};

// Result number `pixel`.
PoolWindow window_of(const Pools& p, const Tensor& x, std::int64_t pixel) {
  const std::int64_t ow = pixel % p.columns.results, oh = pixel / p.columns.results % p.rows.results;
  const std::int64_t b = pixel / (p.columns.results * p.rows.results);
  const images::Span hs = p.rows.reads(oh), ws = p.columns.reads(ow);
  const std::int64_t first = hs.begin * p.columns.size + ws.begin, image = p.rows.size * p.columns.size;
  return {.x = at(x.raw(), (b * image + first) * p.channels, x.dtype()),
          .rows = hs.end - hs.begin,
          .columns = ws.end - ws.begin,
          .line = p.columns.size,
          .channels = p.channels,
          .first = first,
          .scale = p.args.kind == PoolKind::max ? 1.0f : 1.0f / images::divisor(p.args, p.rows, p.columns, oh, ow)};
}

template <class T>
void backward(const Pools& p, const T* dy, const std::int32_t* index, std::int64_t pixel, float* sum, T* dx,
              bool accumulate) {
  const std::int64_t w = pixel % p.columns.size, h = pixel / p.columns.size % p.rows.size;
  const std::int64_t b = pixel / (p.columns.size * p.rows.size), C = p.channels;
  const images::Span hs = p.rows.readers(h), ws = p.columns.readers(w);
  const auto here = static_cast<std::int32_t>(h * p.columns.size + w);
  std::fill(sum, sum + C, 0.0f);
  for (std::int64_t oh = hs.begin; oh < hs.end; ++oh)
    for (std::int64_t ow = ws.begin; ow < ws.end; ++ow) {
      const std::int64_t at = ((b * p.rows.results + oh) * p.columns.results + ow) * C;
      if (p.args.kind == PoolKind::max) {
        for (std::int64_t c = 0; c < C; ++c) sum[c] += index[at + c] == here ? static_cast<float>(dy[at + c]) : 0.0f;
      } else {
        const float scale = 1.0f / images::divisor(p.args, p.rows, p.columns, oh, ow);
        for (std::int64_t c = 0; c < C; ++c) sum[c] += scale * static_cast<float>(dy[at + c]);
      }
    }
  put(sum, 1, dx, C, accumulate);
}

}  // namespace
}  // namespace cpu

void CpuBackend::pooling(const Pooling& args, const Tensor& x, const Tensor& y, const Tensor& index) {
  if (y.size() == 0) return;
  const cpu::Pools p(args, x, y);
  const std::int64_t work = p.channels * (x.dim(1) * x.dim(2) / std::max<std::int64_t>(1, y.dim(1) * y.dim(2)) + 1);
  check(is_float(x.dtype()), "pooling: x is {}; it must be f32 or bf16", name_of(x.dtype()));
  std::int32_t* where = index.defined() ? index.data<std::int32_t>() : nullptr;
  const auto pool_window = (args.kind == PoolKind::max ? rows_.pool_max : rows_.pool_mean)[cpu::kind_of(x)];
  cpu::for_rows(pool(), y.rows(), work, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      cpu::PoolWindow window = cpu::window_of(p, x, i);
      window.y = cpu::at(y.raw(), i * p.channels, y.dtype());
      window.index = where != nullptr ? where + i * p.channels : nullptr;
      pool_window(window);
    }
  });
}

void CpuBackend::pooling_backward(const Pooling& args, const Tensor& dy, const Tensor& index, const Grad& dx) {
  if (!dx || dx.into.size() == 0) return;
  const cpu::Pools p(args, dx.into, dy);
  cpu::with_element(dy.dtype(), "pooling", [&](auto element) {
    using T = decltype(element);
    const std::int32_t* where = index.defined() ? index.data<std::int32_t>() : nullptr;
    cpu::for_rows(pool(), dx.into.rows(), 4 * p.channels, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> sum(static_cast<std::size_t>(p.channels));
      for (std::int64_t i = begin; i < end; ++i)
        cpu::backward(p, dy.data<T>(), where, i, sum.data(), dx.into.data<T>() + i * p.channels, dx.accumulate);
    });
  });
}

}  // namespace attend
