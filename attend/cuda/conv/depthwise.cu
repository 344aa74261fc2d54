// Depthwise convolutions of any window: a thread per result, neighbours on neighbouring channels, so that reads are
// whole lines. Windows of 3 x 3 over packs of channels have depthwise_packs.cu. Places are found with 32-bit divisions
// where the sizes allow: 64-bit ones were most of a kernel of nine taps.
#include <algorithm>

#include "attend/cuda/conv/convolution.cuh"
#include "attend/cuda/conv/depthwise_packs.cuh"
#include "attend/cuda/rows/column_sums.cuh"

namespace attend::cuda {
namespace {

constexpr int kThreads = 256;

template <class T, class Index>
__global__ void forward_kernel(Conv c, const T* x, const T* weight, const T* bias, T* y, bool accumulate, Index size) {
  const Index at = blockIdx.x * static_cast<Index>(kThreads) + threadIdx.x;
  if (at >= size) return;
  const int o = static_cast<int>(at % c.results);
  const Index pixel = at / c.results;
  const int ow = static_cast<int>(pixel % c.results_w), oh = static_cast<int>(pixel / c.results_w % c.results_h);
  const int b = static_cast<int>(pixel / c.results_w / c.results_h), channel = o / c.outputs;
  float sum = bias ? to_float(bias[o]) : 0.0f;
  for (int i = 0; i < c.kernel_h; ++i)
    for (int j = 0; j < c.kernel_w; ++j) {
      const T* place = place_of(c, x, b, oh * c.stride_h - c.padding_h + i * c.dilation_h,
                                ow * c.stride_w - c.padding_w + j * c.dilation_w);
      if (place) sum += to_float(place[channel]) * to_float(weight[o * c.taps() + i * c.kernel_w + j]);
    }
  y[at] = from_float<T>(accumulate ? to_float(y[at]) + sum : sum);
}

template <class T, class Index>
__global__ void input_kernel(Conv c, const T* dy, const T* weight, T* dx, bool accumulate, Index size) {
  const Index at = blockIdx.x * static_cast<Index>(kThreads) + threadIdx.x;
  if (at >= size) return;
  const int channel = static_cast<int>(at % c.channels);
  const Index place = at / c.channels;
  const auto b = static_cast<std::int64_t>(place / c.width / c.height);
  const int w = static_cast<int>(place % c.width), h = static_cast<int>(place / c.width % c.height);
  float sum = 0;
  for (int i = 0; i < c.kernel_h; ++i) {
    const int oh = reader(h, i, c.stride_h, c.padding_h, c.dilation_h, c.results_h);
    if (oh < 0) continue;
    for (int j = 0; j < c.kernel_w; ++j) {
      const int ow = reader(w, j, c.stride_w, c.padding_w, c.dilation_w, c.results_w);
      if (ow < 0) continue;
      const T* d = dy + ((b * c.results_h + oh) * c.results_w + ow) * c.results;
      for (int o = channel * c.outputs; o < (channel + 1) * c.outputs; ++o)
        sum += to_float(d[o]) * to_float(weight[o * c.taps() + i * c.kernel_w + j]);
    }
  }
  dx[at] = from_float<T>(accumulate ? to_float(dx[at]) + sum : sum);
}

// One weight over one chunk of pixels: partial [chunks, O, taps].
template <class T>
__global__ void weight_kernel(Conv c, const T* x, const T* dy, float* partial, std::int64_t pixels,
                              std::int64_t chunk) {
  const int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (i >= c.results * c.taps()) return;
  const int o = i % c.results, tap = i / c.results, channel = o / c.outputs;  // channels are neighbours
  const int down = tap / c.kernel_w * c.dilation_h - c.padding_h,
            across = tap % c.kernel_w * c.dilation_w - c.padding_w;
  const std::int64_t begin = blockIdx.y * chunk, end = min(begin + chunk, pixels);
  float sum = 0;
  // Where a result is moves on by additions.
  int ow = static_cast<int>(begin % c.results_w), oh = static_cast<int>(begin / c.results_w % c.results_h);
  int b = static_cast<int>(begin / c.results_w / c.results_h);
  for (std::int64_t pixel = begin; pixel < end; ++pixel) {
    const T* place = place_of(c, x, b, oh * c.stride_h + down, ow * c.stride_w + across);
    if (place) sum += to_float(place[channel]) * to_float(dy[pixel * c.results + o]);
    if (++ow < c.results_w) continue;
    ow = 0;
    if (++oh == c.results_h) oh = 0, ++b;
  }
  partial[blockIdx.y * static_cast<std::int64_t>(c.results * c.taps()) + o * c.taps() + tap] = sum;
}

// body(0u) or body(0ll): the type that counts up to size.
template <class Body>
void with_index(std::int64_t size, Body&& body) {
  if (size < (std::int64_t{1} << 31))
    body(std::uint32_t{});
  else
    body(std::int64_t{});
}

}  // namespace

void depthwise(const CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& weight, const Tensor& bias,
               const Grad& y) {
  if (packs_fit(c, {x, bias, y.into})) return depthwise_packs(backend, c, x, weight, bias, y);
  const std::int64_t size = y.into.size();
  with_float(x.dtype(), "convolution", [&](auto type) {
    using T = typename decltype(type)::type;
    with_index(size, [&]<class Index>(Index) {
      forward_kernel<T, Index><<<blocks_for(size, kThreads), kThreads, 0, backend.stream()>>>(
          c, pointer<T>(x), pointer<T>(weight), pointer<T>(bias), pointer<T>(y.into), y.accumulate,
          static_cast<Index>(size));
    });
  });
  launch_check("depthwise");
}

void depthwise_input(const CudaBackend& backend, const Conv& c, const Tensor& dy, const Tensor& weight,
                     const Grad& dx) {
  if (packs_fit(c, {dy, dx.into})) return depthwise_input_packs(backend, c, dy, weight, dx);
  const std::int64_t size = dx.into.size();
  with_float(dy.dtype(), "convolution", [&](auto type) {
    using T = typename decltype(type)::type;
    with_index(size, [&]<class Index>(Index) {
      input_kernel<T, Index><<<blocks_for(size, kThreads), kThreads, 0, backend.stream()>>>(
          c, pointer<T>(dy), pointer<T>(weight), pointer<T>(dx.into), dx.accumulate, static_cast<Index>(size));
    });
  });
  launch_check("depthwise_input");
}

void depthwise_weight(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& dy, const Grad& dweight) {
  if (packs_fit(c, {x, dy})) return depthwise_weight_packs(backend, c, x, dy, dweight);
  const std::int64_t size = dweight.into.size();
  const std::int64_t chunk = divide_up(c.pixels(), std::min<std::int64_t>(1024, divide_up(c.pixels(), 64)));
  const std::int64_t chunks = divide_up(c.pixels(), chunk);
  auto* partial = static_cast<float*>(backend.scratch(static_cast<std::size_t>(chunks * size) * sizeof(float)));
  with_float(dy.dtype(), "convolution", [&](auto type) {
    using T = typename decltype(type)::type;
    const dim3 grid(blocks_for(size, kThreads), static_cast<unsigned>(chunks));
    weight_kernel<T>
        <<<grid, kThreads, 0, backend.stream()>>>(c, pointer<T>(x), pointer<T>(dy), partial, c.pixels(), chunk);
  });
  launch_check("depthwise_weight");
  sum_partials(backend, {.data = partial, .chunks = chunks, .width = size, .stride = size}, dweight);
}

}  // namespace attend::cuda
