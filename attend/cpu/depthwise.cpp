#include "attend/cpu/depthwise.h"

#include <algorithm>
#include <vector>

#include "attend/cpu/elements.h"
#include "attend/cpu/parallel.h"

namespace attend::cpu {

namespace {

// sum[o] += x[o / m] · tap[o]
template <class T>
void add_tap(const T* x, const float* tap, float* sum, std::int64_t results, std::int64_t m) {
  if (m == 1) {
    for (std::int64_t o = 0; o < results; ++o) sum[o] += static_cast<float>(x[o]) * tap[o];
    return;
  }
  for (std::int64_t c = 0; c < results / m; ++c)
    for (std::int64_t q = 0; q < m; ++q) sum[c * m + q] += static_cast<float>(x[c]) * tap[c * m + q];
}

template <class T>
void forward_row(const Depthwise& conv, const T* x, const T* bias, std::int64_t row, T* y, bool accumulate) {
  const std::int64_t b = row / conv.results_h, oh = row % conv.results_h;
  const auto& [stride, padding, dilation, groups] = conv.window;
  std::vector<float> sum(static_cast<std::size_t>(conv.results));
  for (std::int64_t ow = 0; ow < conv.results_w; ++ow) {
    for (std::int64_t o = 0; o < conv.results; ++o)
      sum[static_cast<std::size_t>(o)] = bias ? static_cast<float>(bias[o]) : 0;
    for (std::int64_t i = 0; i < conv.kernel_h; ++i) {
      const std::int64_t h = oh * stride.h - padding.h + i * dilation.h;
      if (h < 0 || h >= conv.height) continue;
      for (std::int64_t j = 0; j < conv.kernel_w; ++j) {
        const std::int64_t w = ow * stride.w - padding.w + j * dilation.w;
        if (w < 0 || w >= conv.width) continue;
        add_tap(x + ((b * conv.height + h) * conv.width + w) * conv.channels,
                conv.taps + (i * conv.kernel_w + j) * conv.results, sum.data(), conv.results, conv.multiplier());
      }
    }
    put(sum.data(), 1, y + (row * conv.results_w + ow) * conv.results, conv.results, accumulate);
  }
}

template <class T>
void input_row(const Depthwise& conv, const T* dy, std::int64_t row, T* dx, bool accumulate) {
  const std::int64_t b = row / conv.height, h = row % conv.height, m = conv.multiplier();
  const auto& [stride, padding, dilation, groups] = conv.window;
  std::vector<float> sum(static_cast<std::size_t>(conv.channels));
  for (std::int64_t w = 0; w < conv.width; ++w) {
    std::fill(sum.begin(), sum.end(), 0.0f);
    for (std::int64_t i = 0; i < conv.kernel_h; ++i) {
      const std::int64_t oh = images::reader(h, i, stride.h, padding.h, dilation.h, conv.results_h);
      for (std::int64_t j = 0; oh >= 0 && j < conv.kernel_w; ++j) {
        const std::int64_t ow = images::reader(w, j, stride.w, padding.w, dilation.w, conv.results_w);
        if (ow < 0) continue;
        const T* d = dy + ((b * conv.results_h + oh) * conv.results_w + ow) * conv.results;
        const float* tap = conv.taps + (i * conv.kernel_w + j) * conv.results;
        float* to = sum.data();
        if (m == 1)
          for (std::int64_t c = 0; c < conv.channels; ++c) to[c] += static_cast<float>(d[c]) * tap[c];
        else
          for (std::int64_t o = 0; o < conv.results; ++o) to[o / m] += static_cast<float>(d[o]) * tap[o];
      }
    }
    put(sum.data(), 1, dx + (row * conv.width + w) * conv.channels, conv.channels, accumulate);
  }
}

template <class T>
void weight_row(const Depthwise& conv, const T* x, const T* dy, std::int64_t row, float* sums) {
  const std::int64_t b = row / conv.results_h, oh = row % conv.results_h, m = conv.multiplier();
  const auto& [stride, padding, dilation, groups] = conv.window;
  for (std::int64_t i = 0; i < conv.kernel_h; ++i) {
    const std::int64_t h = oh * stride.h - padding.h + i * dilation.h;
    if (h < 0 || h >= conv.height) continue;
    for (std::int64_t ow = 0; ow < conv.results_w; ++ow) {
      const T* d = dy + (row * conv.results_w + ow) * conv.results;
      for (std::int64_t j = 0; j < conv.kernel_w; ++j) {
        const std::int64_t w = ow * stride.w - padding.w + j * dilation.w;
        if (w < 0 || w >= conv.width) continue;
        const T* at = x + ((b * conv.height + h) * conv.width + w) * conv.channels;
        float* to = sums + (i * conv.kernel_w + j) * conv.results;
        if (m == 1)
          for (std::int64_t c = 0; c < conv.channels; ++c)
            to[c] += static_cast<float>(d[c]) * static_cast<float>(at[c]);
        else
          for (std::int64_t o = 0; o < conv.results; ++o)
            to[o] += static_cast<float>(d[o]) * static_cast<float>(at[o / m]);
      }
    }
  }
}

}  // namespace

void lay_out_taps(const Depthwise& conv, const Tensor& weight) {
  with_element(weight.dtype(), "convolution", [&](auto element) {
    using T = decltype(element);
    const T* from = weight.data<T>();
    const std::int64_t taps = conv.kernel_h * conv.kernel_w;
    for (std::int64_t o = 0; o < conv.results; ++o)
      for (std::int64_t tap = 0; tap < taps; ++tap)
        conv.taps[tap * conv.results + o] = static_cast<float>(from[o * taps + tap]);
  });
}

void depthwise(const Depthwise& conv, const Tensor& x, const Tensor& bias, const Grad& y, ThreadPool& pool) {
  with_element(x.dtype(), "convolution", [&](auto element) {
    using T = decltype(element);
    const T *from = x.data<T>(), *added = bias.defined() ? bias.data<T>() : nullptr;
    T* to = y.into.data<T>();
    for_rows(pool, conv.batch * conv.results_h, conv.results_w * conv.tap_floats(),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t row = begin; row < end; ++row) forward_row(conv, from, added, row, to, y.accumulate);
             });
  });
}

void depthwise_input(const Depthwise& conv, const Tensor& dy, const Grad& dx, ThreadPool& pool) {
  with_element(dy.dtype(), "convolution", [&](auto element) {
    using T = decltype(element);
    const T* from = dy.data<T>();
    T* to = dx.into.data<T>();
    for_rows(pool, conv.batch * conv.height, conv.width * conv.tap_floats(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) input_row(conv, from, row, to, dx.accumulate);
    });
  });
}

void depthwise_weight_sums(const Depthwise& conv, const Tensor& x, const Tensor& dy, std::int64_t begin,
                           std::int64_t end, float* sums) {
  std::fill(sums, sums + conv.tap_floats(), 0.0f);
  with_element(x.dtype(), "convolution", [&](auto element) {
    using T = decltype(element);
    for (std::int64_t row = begin; row < end; ++row) weight_row(conv, x.data<T>(), dy.data<T>(), row, sums);
  });
}

}  // namespace attend::cpu
