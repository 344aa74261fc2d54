// Convolutions as products: what the windows of some thousand results read is laid out in rows (im2col), a few
// megabytes at a time, and multiplied by the weight, whose rows [kh, kw, C / groups] are in the same order. The way
// back to x is a convolution of dy by the turned weight where the stride is 1. Otherwise it is the product first and
// then a sum, by place, over the windows that read it, so that no two threads add to one place.
#include <algorithm>
#include <cstring>
#include <vector>

#include "attend/cpu/convolution_sizes.h"
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/depthwise.h"
#include "attend/cpu/elements.h"
#include "attend/cpu/packed_weight.h"
#include "attend/cpu/parallel.h"

namespace attend {
namespace cpu {
namespace {

// Of laid out windows at a time: 8 MB of f32, which a share of the last cache holds.
constexpr std::int64_t kTileFloats = std::int64_t{1} << 21;

struct Geometry : ConvolutionSizes {
  std::int64_t inputs, outputs;  // channels of a group, on both sides

  Geometry(const Convolution& args, const Tensor& x, const Tensor& weight, const Tensor& y)
      : ConvolutionSizes(args, x, weight, y), inputs(weight.dim(3)), outputs(y.dim(3) / args.groups) {}

  // What the windows of a group read.
  Windows windows(const Tensor& x, std::int64_t group) const {
    return {.x = static_cast<const std::byte*>(at(x.raw(), group * inputs, x.dtype())),
            .dtype = x.dtype(),
            .window = window,
            .height = height,
            .width = width,
            .channels = channels,
            .results_h = results_h,
            .results_w = results_w,
            .kernel_h = kernel_h,
            .kernel_w = kernel_w,
            .inputs = inputs};
  }

  // What a place of x is read by, as windows of dy; with a stride of 1.
  Windows windows_of_dy(const Tensor& dy, std::int64_t group) const {
    const Extent2 &padding = window.padding, &dilation = window.dilation;
    Windows of = windows(dy, 0);
    of.x = static_cast<const std::byte*>(at(dy.raw(), group * outputs, dy.dtype()));
    of.window.padding = {(kernel_h - 1) * dilation.h - padding.h, (kernel_w - 1) * dilation.w - padding.w};
    of.height = results_h, of.width = results_w, of.channels = results;
    of.results_h = height, of.results_w = width, of.inputs = outputs;
    return of;
  }

  std::int64_t pixels() const { return batch * results_h * results_w; }
  std::int64_t row() const { return kernel_h * kernel_w * inputs; }  // what one window reads of one group
  std::int64_t tile() const {
    return std::clamp<std::int64_t>(kTileFloats / std::max<std::int64_t>(1, row()), 64, 1 << 16);
  }
};

bool is_depthwise(const Convolution& args, const Tensor& weight) { return args.groups > 1 && weight.dim(3) == 1; }

// What window `pixel` reads of a group, as one row; zeros outside of the image.
void lay_out_window(const Geometry& g, const std::byte* x, std::int64_t element, std::int64_t pixel, std::int64_t group,
                    std::byte* to) {
  const std::int64_t ow = pixel % g.results_w, oh = pixel / g.results_w % g.results_h,
                     b = pixel / (g.results_w * g.results_h);
  const std::int64_t w = ow * g.window.stride.w - g.window.padding.w, dilation = g.window.dilation.w;
  const std::size_t piece = static_cast<std::size_t>(g.inputs * element);
  // All taps of a row of the window are neighbours in memory.
  const bool run = g.window.groups == 1 && dilation == 1 && w >= 0 && w + g.kernel_w <= g.width;
  for (std::int64_t i = 0; i < g.kernel_h; ++i) {
    const std::int64_t h = oh * g.window.stride.h - g.window.padding.h + i * g.window.dilation.h;
    const std::size_t row = piece * static_cast<std::size_t>(g.kernel_w);
    if (h < 0 || h >= g.height) {
      std::memset(to, 0, row);
    } else {
      const std::byte* line = x + ((b * g.height + h) * g.width * g.channels + group * g.inputs) * element;
      if (run) {
        std::memcpy(to, line + w * g.channels * element, row);
      } else {
        for (std::int64_t j = 0; j < g.kernel_w; ++j) {
          const std::int64_t at = w + j * dilation;
          std::byte* tap = to + static_cast<std::size_t>(j) * piece;
          if (at < 0 || at >= g.width)
            std::memset(tap, 0, piece);
          else
            std::memcpy(tap, line + at * g.channels * element, piece);
        }
      }
    }
    to += row;
  }
}

void lay_out(const Geometry& g, const Tensor& x, std::int64_t begin, std::int64_t count, std::int64_t group, void* to,
             ThreadPool& pool) {
  const auto element = static_cast<std::int64_t>(bytes_of(x.dtype()));
  const auto* from = static_cast<const std::byte*>(x.raw());
  for_rows(pool, count, g.row(), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t p = first; p < last; ++p)
      lay_out_window(g, from, element, begin + p, group, static_cast<std::byte*>(to) + p * g.row() * element);
  });
}

// dx at one place: what all windows that read it hand back. `columns` holds [kh, kw, inputs] for each result from
// number `first` on.
template <class T>
void collect(const Geometry& g, const float* columns, std::int64_t first, std::int64_t place, float* sum, T* dx,
             bool accumulate) {
  const std::int64_t w = place % g.width, h = place / g.width % g.height, b = place / (g.width * g.height);
  const auto& [stride, padding, dilation, groups] = g.window;
  std::fill(sum, sum + g.inputs, 0.0f);
  for (std::int64_t i = 0; i < g.kernel_h; ++i) {
    const std::int64_t oh = images::reader(h, i, stride.h, padding.h, dilation.h, g.results_h);
    for (std::int64_t j = 0; oh >= 0 && j < g.kernel_w; ++j) {
      const std::int64_t ow = images::reader(w, j, stride.w, padding.w, dilation.w, g.results_w);
      if (ow < 0) continue;
      const std::int64_t pixel = (b * g.results_h + oh) * g.results_w + ow - first;
      const float* from = columns + pixel * g.row() + (i * g.kernel_w + j) * g.inputs;
      for (std::int64_t c = 0; c < g.inputs; ++c) sum[c] += from[c];
    }
  }
  put(sum, 1, dx, g.inputs, accumulate);
}

// Whether the gradient of x is done as a convolution of dy. With a stride of 1 every window of dy begins a place after
// the last; and turning the weight must be little beside what a product's rows take to be written and added up.
bool is_convolution_of_dy(const Geometry& g) {
  const auto& [stride, padding, dilation, groups] = g.window;
  if (g.batch * g.height * g.width < 8 * g.outputs) return false;
  return stride.h == 1 && stride.w == 1 && padding.h <= (g.kernel_h - 1) * dilation.h &&
         padding.w <= (g.kernel_w - 1) * dilation.w;
}

// A group's weight for that: [inputs, kh, kw, outputs], taps in reverse order.
template <class T>
void turn_weight(const Geometry& g, const T* weight, T* to, ThreadPool& pool) {
  const std::int64_t taps = g.kernel_h * g.kernel_w;
  constexpr std::int64_t kTogether = 16;  // inputs: a line of the weight, and so many lines of the result
  pool.for_each((g.inputs + kTogether - 1) / kTogether, [&](std::int64_t part) {
    const std::int64_t begin = part * kTogether, end = std::min(g.inputs, begin + kTogether);
    for (std::int64_t tap = 0; tap < taps; ++tap)
      for (std::int64_t o = 0; o < g.outputs; ++o)
        for (std::int64_t c = begin; c < end; ++c)
          to[(c * taps + taps - 1 - tap) * g.outputs + o] = weight[(o * taps + tap) * g.inputs + c];
  });
}

// A stretch of x: rows [begin, end) of all B · H, and the rows of y, of all B · OH, that read any of them.
struct Band {
  std::int64_t begin, end;
  std::int64_t first, last;
};

Band band_of(const Geometry& g, std::int64_t begin, std::int64_t end) {
  const auto edge = [&](std::int64_t row,
                        std::int64_t tap) {  // the result that reads row with this tap, if it were one
    return images::floor_divide(row % g.height + g.window.padding.h - tap * g.window.dilation.h, g.window.stride.h);
  };
  const std::int64_t low = std::clamp<std::int64_t>(edge(begin, g.kernel_h - 1), 0, g.results_h);
  const std::int64_t high = std::clamp<std::int64_t>(edge(end - 1, 0) + 1, 0, g.results_h);
  return {begin, end, begin / g.height * g.results_h + low, (end - 1) / g.height * g.results_h + high};
}

// The most rows of x whose results fit into a tile: whole images if one does, else a part of one.
std::int64_t band_rows(const Geometry& g) {
  const std::int64_t image = g.results_h * g.results_w * g.row();
  if (image <= kTileFloats) return std::max<std::int64_t>(1, kTileFloats / std::max<std::int64_t>(1, image)) * g.height;
  const std::int64_t rows = kTileFloats / (g.results_w * g.row()) * g.window.stride.h;
  return std::clamp<std::int64_t>(rows, 1, g.height);
}

}  // namespace
}  // namespace cpu

void CpuBackend::convolution(const Convolution& args, const Tensor& x, const Tensor& weight, const Tensor& bias,
                             Activation activation, const Grad& y) {
  if (!y || y.into.size() == 0) return;
  if (cpu::is_depthwise(args, weight)) {
    cpu::Depthwise conv(args, x, weight, y.into);
    conv.taps = scratch(conv.tap_floats());
    cpu::lay_out_taps(conv, weight);
    cpu::depthwise(conv, x, bias, y, pool());
    if (activation != Activation::none) this->activation(y.into, activation, y.into);
    return;
  }
  const cpu::Geometry g(args, x, weight, y.into);
  cpu::GemmOutput out{.c = y.into.raw(), .c_dtype = y.into.dtype(), .c_stride = g.results, .accumulate = y.accumulate};
  if (bias.defined()) out.bias = bias.raw(), out.bias_dtype = bias.dtype();
  out.activation = activation;
  if (const cpu::CpuPackedWeight* packed = cpu::packed_weight_of(weight)) {
    check(args.groups == 1, "convolution: a packed weight in {} groups", args.groups);
    const cpu::Windows windows = g.windows(x, 0);
    if (const cpu::WinogradWeights* transformed = packed->winograd(windows, pool()))
      return cpu::winograd({.batch = g.batch, .windows = windows, .weights = transformed, .out = out}, pool());
    return cpu::gemm_packed({.m = g.pixels(),
                             .a_dtype = x.dtype(),
                             .windows = windows,
                             .weights = &packed->weights(windows, pool()),
                             .out = out},
                            pool());
  }
  const DType dtype = x.dtype();
  for (std::int64_t group = 0; group < args.groups; ++group) {
    const std::int64_t first = group * g.outputs;
    cpu::Gemm product{.m = g.pixels(), .n = g.outputs, .k = g.row()};
    product.a = {nullptr, dtype, g.row(), false};
    product.windows = g.windows(x, group);
    product.b = {cpu::at(weight.raw(), first * g.row(), dtype), dtype, g.row(), true};
    product.set_output(out);
    product.c = cpu::at(out.c, first, out.c_dtype);
    if (bias.defined()) product.bias = cpu::at(out.bias, first, bias.dtype());
    product.precision = precision_, product.rows_alike = batch_invariant_;
    cpu::gemm(product, pool());
  }
}

void CpuBackend::convolution_input(const Convolution& args, const Tensor& dy, const Tensor& weight, const Grad& dx) {
  if (!dx || dx.into.size() == 0) return;
  if (cpu::is_depthwise(args, weight)) {
    cpu::Depthwise conv(args, dx.into, weight, dy);
    conv.taps = scratch(conv.tap_floats());
    cpu::lay_out_taps(conv, weight);
    return cpu::depthwise_input(conv, dy, dx, pool());
  }
  const cpu::Geometry g(args, dx.into, weight, dy);
  const DType dtype = dy.dtype();
  if (cpu::is_convolution_of_dy(g)) {
    void* turned = scratch(g.inputs * g.kernel_h * g.kernel_w * g.outputs);
    for (std::int64_t group = 0; group < args.groups; ++group) {
      const std::int64_t first = group * g.outputs;
      cpu::with_element(dtype, "convolution", [&](auto element) {
        using T = decltype(element);
        cpu::turn_weight(g, weight.data<T>() + first * g.row(), static_cast<T*>(turned), pool());
      });
      cpu::Gemm product{.m = g.batch * g.height * g.width, .n = g.inputs, .k = g.kernel_h * g.kernel_w * g.outputs};
      product.a = {nullptr, dtype, product.k, false};
      product.windows = g.windows_of_dy(dy, group);
      product.b = {turned, dtype, product.k, true};
      product.c = cpu::at(dx.into.raw(), group * g.inputs, dx.into.dtype());
      product.c_dtype = dx.into.dtype(), product.c_stride = g.channels, product.accumulate = dx.accumulate;
      product.precision = precision_;
      cpu::gemm(product, pool());
    }
    return;
  }
  const std::int64_t rows = g.batch * g.height, step = cpu::band_rows(g);
  for (std::int64_t begin = 0, next = 0; begin < rows; begin = next) {
    // A part of an image ends where the image does.
    next = step >= g.height ? std::min(rows, begin + step) : std::min(begin + step, (begin / g.height + 1) * g.height);
    const cpu::Band band = cpu::band_of(g, begin, next);
    const std::int64_t count = std::max<std::int64_t>(0, band.last - band.first) * g.results_w,
                       first = band.first * g.results_w;
    float* columns = scratch(std::max<std::int64_t>(1, count * g.row()));
    for (std::int64_t group = 0; group < args.groups; ++group) {
      cpu::Gemm product{.m = count, .n = g.row(), .k = g.outputs};
      product.a = {cpu::at(dy.raw(), first * g.results + group * g.outputs, dtype), dtype, g.results, false};
      product.b = {cpu::at(weight.raw(), group * g.outputs * g.row(), dtype), dtype, g.row(), false};
      product.c = columns, product.c_stride = g.row();
      product.precision = precision_;
      if (count > 0) cpu::gemm(product, pool());
      cpu::with_element(dx.into.dtype(), "convolution", [&](auto element) {
        using T = decltype(element);
        T* to = dx.into.data<T>() + group * g.inputs;
        cpu::for_rows(pool(), (next - begin) * g.width, g.row(), [&](std::int64_t from, std::int64_t until) {
          std::vector<float> sum(static_cast<std::size_t>(g.inputs));
          for (std::int64_t p = begin * g.width + from; p < begin * g.width + until; ++p)
            cpu::collect(g, columns, first, p, sum.data(), to + p * g.channels, dx.accumulate);
        });
      });
    }
  }
}

void CpuBackend::convolution_weight(const Convolution& args, const Tensor& x, const Tensor& dy, const Grad& dweight) {
  if (!dweight || dweight.into.size() == 0) return;
  if (cpu::is_depthwise(args, dweight.into)) {
    const cpu::Depthwise conv(args, x, dweight.into, dy);
    const std::int64_t rows = conv.batch * conv.results_h, taps = conv.kernel_h * conv.kernel_w;
    const cpu::Chunks chunks(rows, conv.results_w * conv.tap_floats());
    float* sums = scratch((chunks.count + 1) * conv.tap_floats());
    const auto chunk_sums = [&](std::int64_t chunk) {
      cpu::depthwise_weight_sums(conv, x, dy, chunk * chunks.rows, std::min(rows, (chunk + 1) * chunks.rows),
                                 sums + chunk * conv.tap_floats());
    };
    pool().run({ThreadPool::each(chunks.count, chunk_sums)});
    cpu::with_element(dweight.into.dtype(), "convolution", [&](auto element) {
      auto* to = dweight.into.data<decltype(element)>();
      for (std::int64_t i = 0; i < conv.tap_floats(); ++i) {
        float sum = 0;
        for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) sum += sums[chunk * conv.tap_floats() + i];
        cpu::put(&sum, 1, to + i % conv.results * taps + i / conv.results, 1, dweight.accumulate);
      }
    });
    return;
  }
  const cpu::Geometry g(args, x, dweight.into, dy);
  const DType dtype = dy.dtype();
  // Tiles are added up in f32; a bf16 gradient is rounded once, at the end.
  const bool direct = dweight.into.dtype() == DType::f32;
  const std::int64_t tile = std::min(g.tile(), std::max<std::int64_t>(1, g.pixels())) * g.row();
  float* windows = scratch(tile + (direct ? 0 : dweight.into.size()));
  float* sums = direct ? dweight.into.data<float>() : windows + tile;
  const bool adds = direct && dweight.accumulate;
  if (g.pixels() == 0 && !adds) std::fill(sums, sums + dweight.into.size(), 0.0f);
  for (std::int64_t begin = 0; begin < g.pixels(); begin += g.tile())
    for (std::int64_t group = 0; group < args.groups; ++group) {
      const std::int64_t count = std::min(g.tile(), g.pixels() - begin);
      cpu::lay_out(g, x, begin, count, group, windows, pool());
      cpu::Gemm product{.m = g.outputs, .n = g.row(), .k = count};
      product.a = {cpu::at(dy.raw(), begin * g.results + group * g.outputs, dtype), dtype, g.results, true};
      product.b = {windows, dtype, g.row(), false};
      product.c = sums + group * g.outputs * g.row(), product.c_stride = g.row();
      product.accumulate = adds || begin > 0;
      product.precision = precision_;
      cpu::gemm(product, pool());
    }
  if (!direct) cpu::put(sums, 1, dweight.into.data<Bf16>(), dweight.into.size(), dweight.accumulate);
}

}  // namespace attend
