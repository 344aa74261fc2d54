// Pooling: each result over its window, and on the way back each place over the windows that read it, so that no two
// threads write to one place.
#include <algorithm>
#include <limits>
#include <vector>

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

// NaN is the largest of all, as elsewhere.
bool larger(float value, float best) { return value > best || (value != value && best == best); }

template <class T>
void forward(const Pools& p, const T* x, std::int64_t pixel, float* sum, T* y, std::int32_t* index) {
  const std::int64_t ow = pixel % p.columns.results, oh = pixel / p.columns.results % p.rows.results;
  const std::int64_t b = pixel / (p.columns.results * p.rows.results), C = p.channels;
  const images::Span hs = p.rows.reads(oh), ws = p.columns.reads(ow);
  const bool max = p.args.kind == PoolKind::max;
  std::fill(sum, sum + C, max ? -std::numeric_limits<float>::infinity() : 0.0f);
  if (index) std::fill(index, index + C, static_cast<std::int32_t>(hs.begin * p.columns.size + ws.begin));
  for (std::int64_t h = hs.begin; h < hs.end; ++h)
    for (std::int64_t w = ws.begin; w < ws.end; ++w) {
      const T* from = x + ((b * p.rows.size + h) * p.columns.size + w) * C;
      if (!max) {
        for (std::int64_t c = 0; c < C; ++c) sum[c] += static_cast<float>(from[c]);
        continue;
      }
      for (std::int64_t c = 0; c < C; ++c) {
        const float value = static_cast<float>(from[c]);
        if (!larger(value, sum[c])) continue;
        sum[c] = value;
        if (index) index[c] = static_cast<std::int32_t>(h * p.columns.size + w);
      }
    }
  put(sum, max ? 1.0f : 1.0f / images::divisor(p.args, p.rows, p.columns, oh, ow), y, C, false);
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
  cpu::with_element(x.dtype(), "pooling", [&](auto element) {
    using T = decltype(element);
    std::int32_t* where = index.defined() ? index.data<std::int32_t>() : nullptr;
    cpu::for_rows(pool(), y.rows(), work, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> sum(static_cast<std::size_t>(p.channels));
      for (std::int64_t i = begin; i < end; ++i)
        cpu::forward(p, x.data<T>(), i, sum.data(), y.data<T>() + i * p.channels,
                     where ? where + i * p.channels : nullptr);
    });
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
