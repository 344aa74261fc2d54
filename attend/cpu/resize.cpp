// Resizing images: each result from the few places it is made of, and on the way back each place from the results
// that read it.
#include <algorithm>
#include <vector>

#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/elements.h"
#include "attend/cpu/parallel.h"

namespace attend {
namespace cpu {
namespace {

using images::ResizeAxis;
using images::Taps;

struct Axes {
  ResizeAxis rows, columns;
  std::int64_t channels;

  Axes(const Resizing& args, const Tensor& x, const Tensor& y)
      : rows{args, x.dim(1), y.dim(1)}, columns{args, x.dim(2), y.dim(2)}, channels(x.dim(3)) {}
};

// One of the B · OH rows of y.
template <class T>
void forward_row(const Axes& axes, const T* x, std::int64_t row, float* sum, T* y) {
  const std::int64_t b = row / axes.rows.results, C = axes.channels;
  const Taps hs = axes.rows.taps(row % axes.rows.results);
  for (std::int64_t ow = 0; ow < axes.columns.results; ++ow) {
    const Taps ws = axes.columns.taps(ow);
    std::fill(sum, sum + C, 0.0f);
    for (int i = 0; i < hs.count; ++i)
      for (int j = 0; j < ws.count; ++j) {
        const float weight = hs.weight[i] * ws.weight[j];
        const T* from = x + ((b * axes.rows.size + hs.at[i]) * axes.columns.size + ws.at[j]) * C;
        for (std::int64_t c = 0; c < C; ++c) sum[c] += weight * static_cast<float>(from[c]);
      }
    put(sum, 1, y + (row * axes.columns.results + ow) * C, C, false);
  }
}

// One of the B · H rows of dx.
template <class T>
void backward_row(const Axes& axes, const T* dy, std::int64_t row, float* sum, T* dx, bool accumulate) {
  const std::int64_t b = row / axes.rows.size, h = row % axes.rows.size, C = axes.channels;
  const images::Span hs = axes.rows.readers(h);
  for (std::int64_t w = 0; w < axes.columns.size; ++w) {
    const images::Span ws = axes.columns.readers(w);
    std::fill(sum, sum + C, 0.0f);
    for (std::int64_t oh = hs.begin; oh < hs.end; ++oh) {
      const float down = axes.rows.share(oh, h);
      for (std::int64_t ow = ws.begin; down != 0 && ow < ws.end; ++ow) {
        const float weight = down * axes.columns.share(ow, w);
        if (weight == 0) continue;
        const T* from = dy + ((b * axes.rows.results + oh) * axes.columns.results + ow) * C;
        for (std::int64_t c = 0; c < C; ++c) sum[c] += weight * static_cast<float>(from[c]);
      }
    }
    put(sum, 1, dx + (row * axes.columns.size + w) * C, C, accumulate);
  }
}

}  // namespace
}  // namespace cpu

void CpuBackend::resize(const Resizing& args, const Tensor& x, const Tensor& y) {
  if (y.size() == 0) return;
  const cpu::Axes axes(args, x, y);
  cpu::with_element(x.dtype(), "resize", [&](auto element) {
    using T = decltype(element);
    cpu::for_rows(pool(), y.dim(0) * y.dim(1), 8 * y.dim(2) * axes.channels, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> sum(static_cast<std::size_t>(axes.channels));
      for (std::int64_t row = begin; row < end; ++row)
        cpu::forward_row(axes, x.data<T>(), row, sum.data(), y.data<T>());
    });
  });
}

void CpuBackend::resize_backward(const Resizing& args, const Tensor& dy, const Grad& dx) {
  if (!dx || dx.into.size() == 0) return;
  const cpu::Axes axes(args, dx.into, dy);
  cpu::with_element(dy.dtype(), "resize", [&](auto element) {
    using T = decltype(element);
    const std::int64_t rows = dx.into.dim(0) * dx.into.dim(1);
    cpu::for_rows(pool(), rows, 16 * dx.into.dim(2) * axes.channels, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> sum(static_cast<std::size_t>(axes.channels));
      for (std::int64_t row = begin; row < end; ++row)
        cpu::backward_row(axes, dy.data<T>(), row, sum.data(), dx.into.data<T>(), dx.accumulate);
    });
  });
}

}  // namespace attend
