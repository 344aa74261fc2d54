#include "attend/cuda/conv/depthwise_packs.cuh"

#include <algorithm>

#include "attend/cuda/rows/column_sums.cuh"

namespace attend::cuda {
namespace {

constexpr int kThreads = 256, kSide = 3, kTaps = kSide * kSide;
constexpr int kMostPacks = 32;  // of a block: neighbouring threads read a line of up to 512 bytes
constexpr int kTurns = 8;       // pixels of a thread at least, so that loading the weights does not count

// How a block's threads share packs of channels and pixels. blockIdx.y is the slice of the channels.
struct Share {
  int packs, slice;  // of all channels; of a block
  int lanes;         // pixels that a block works on at once

  template <class T>
  static Share of(int channels, T) {
    const int packs = channels / kPack<T>, slices = (packs + kMostPacks - 1) / kMostPacks;
    const int slice = (packs + slices - 1) / slices;
    return {packs, slice, kThreads / slice};
  }
  unsigned slices() const { return static_cast<unsigned>((packs + slice - 1) / slice); }
  unsigned blocks(std::int64_t pixels, int turns, std::int64_t most) const {
    return static_cast<unsigned>(
        std::clamp<std::int64_t>(pixels / (static_cast<std::int64_t>(lanes) * turns), 1, most));
  }
  __device__ int lane() const { return static_cast<int>(threadIdx.x) / slice; }
  __device__ int pack() const { return static_cast<int>(blockIdx.y) * slice + static_cast<int>(threadIdx.x) % slice; }
  __device__ bool idle() const { return lane() >= lanes || pack() >= packs; }
};

struct Place {
  int b, h, w;
  // Pixel `at` of images of height x width.
  __device__ __forceinline__ Place(std::uint32_t at, int height, int width) {
    const std::uint32_t row = at / static_cast<std::uint32_t>(width);
    w = static_cast<int>(at - row * static_cast<std::uint32_t>(width));
    b = static_cast<int>(row / static_cast<std::uint32_t>(height));
    h = static_cast<int>(row - static_cast<std::uint32_t>(b) * static_cast<std::uint32_t>(height));
  }
};

// Forward (kInput false): y at each pixel of the results, from x. Gradient (kInput true): dx at each pixel of x, from
// dy.
template <class T, bool kInput>
__global__ void __launch_bounds__(kThreads, 2)
    window_kernel(Conv c, Share share, const T* from, const T* weight, const T* bias, T* to, bool accumulate) {
  constexpr int N = kPack<T>;
  if (share.idle()) return;
  const int channel = share.pack() * N;
  float weights[kTaps][N], start[N] = {};
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) weights[tap][j] = to_float(weight[(channel + j) * kTaps + tap]);
  if (bias) load(bias + channel, start);
  const int height = kInput ? c.height : c.results_h, width = kInput ? c.width : c.results_w;
  const int from_height = kInput ? c.results_h : c.height, from_width = kInput ? c.results_w : c.width;
  const std::uint32_t pixels = static_cast<std::uint32_t>(c.batch) * height * width;
  for (std::uint32_t at = blockIdx.x * share.lanes + share.lane(); at < pixels; at += gridDim.x * share.lanes) {
    const Place place(at, height, width);
    const T* image = from + static_cast<std::int64_t>(place.b) * from_height * from_width * c.channels + channel;
    float sum[N];
#pragma unroll
    for (int j = 0; j < N; ++j) sum[j] = start[j];
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
      const int h = kInput ? reader(place.h, i, c.stride_h, c.padding_h, c.dilation_h, c.results_h)
                           : place.h * c.stride_h - c.padding_h + i * c.dilation_h;
      if (h < 0 || h >= from_height) continue;
#pragma unroll
      for (int k = 0; k < kSide; ++k) {
        const int w = kInput ? reader(place.w, k, c.stride_w, c.padding_w, c.dilation_w, c.results_w)
                             : place.w * c.stride_w - c.padding_w + k * c.dilation_w;
        if (w < 0 || w >= from_width) continue;
        float values[N];
        load(image + static_cast<std::int64_t>(h * from_width + w) * c.channels, values);
#pragma unroll
        for (int j = 0; j < N; ++j) sum[j] += values[j] * weights[i * kSide + k][j];
      }
    }
    T* target = to + static_cast<std::int64_t>(at) * c.channels + channel;
    if (accumulate) {
      float before[N];
      load(target, before);
#pragma unroll
      for (int j = 0; j < N; ++j) sum[j] += before[j];
    }
    store(target, sum);
  }
}

// The weights of a slice over a block's pixels: partial [blocks, C, taps].
template <class T>
__global__ void __launch_bounds__(kThreads, 2)
    weight_kernel(Conv c, Share share, const T* x, const T* dy, float* partial) {
  constexpr int N = kPack<T>;
  __shared__ float sums[kThreads * N];
  const int channel = share.pack() * N;
  float sum[kTaps][N] = {};
  const std::uint32_t pixels = static_cast<std::uint32_t>(c.batch) * c.results_h * c.results_w;
  if (!share.idle()) {
    for (std::uint32_t at = blockIdx.x * share.lanes + share.lane(); at < pixels; at += gridDim.x * share.lanes) {
      const Place place(at, c.results_h, c.results_w);
      const T* image = x + static_cast<std::int64_t>(place.b) * c.height * c.width * c.channels + channel;
      float d[N];
      load(dy + static_cast<std::int64_t>(at) * c.channels + channel, d);
#pragma unroll
      for (int i = 0; i < kSide; ++i) {
        const int h = place.h * c.stride_h - c.padding_h + i * c.dilation_h;
        if (h < 0 || h >= c.height) continue;
#pragma unroll
        for (int k = 0; k < kSide; ++k) {
          const int w = place.w * c.stride_w - c.padding_w + k * c.dilation_w;
          if (w < 0 || w >= c.width) continue;
          float values[N];
          load(image + static_cast<std::int64_t>(h * c.width + w) * c.channels, values);
#pragma unroll
          for (int j = 0; j < N; ++j) sum[i * kSide + k][j] += values[j] * d[j];
        }
      }
    }
  }
  // The lanes of a block in order, tap by tap.
  const int across = share.slice * N, first = static_cast<int>(blockIdx.y) * across;
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) {
    if (share.lane() < share.lanes)
#pragma unroll
      for (int j = 0; j < N; ++j) sums[threadIdx.x * N + j] = sum[tap][j];
    __syncthreads();
    for (int at = static_cast<int>(threadIdx.x); at < across && first + at < c.channels; at += kThreads) {
      float total = 0;
      for (int lane = 0; lane < share.lanes; ++lane) total += sums[lane * across + at];
      partial[(static_cast<std::int64_t>(blockIdx.x) * c.channels + first + at) * kTaps + tap] = total;
    }
    __syncthreads();
  }
}

template <bool kInput>
void walk_windows(const CudaBackend& backend, const Conv& c, const Tensor& from, const Tensor& weight,
                  const Tensor& bias, const Grad& to) {
  const std::int64_t pixels = kInput ? c.places() : c.pixels();
  with_float(from.dtype(), "convolution", [&](auto type) {
    using T = typename decltype(type)::type;
    const Share share = Share::of(c.channels, T{});
    const dim3 grid(share.blocks(pixels, kTurns, 4096), share.slices());
    window_kernel<T, kInput><<<grid, kThreads, 0, backend.stream()>>>(
        c, share, pointer<T>(from), pointer<T>(weight), pointer<T>(bias), pointer<T>(to.into), to.accumulate);
  });
  launch_check("depthwise_packs");
}

}  // namespace

bool packs_fit(const Conv& c, std::initializer_list<Tensor> tensors) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;  // pixels are counted in 32 bits
  if (c.outputs != 1 || c.kernel_h != kSide || c.kernel_w != kSide || c.pixels() > kMost || c.places() > kMost)
    return false;
  return std::ranges::all_of(tensors, [&](const Tensor& tensor) {
    if (!tensor.defined()) return true;
    return aligned16(tensor) && c.channels % (tensor.dtype() == DType::f32 ? kPack<float> : kPack<bf16>) == 0;
  });
}

void depthwise_packs(const CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& weight,
                     const Tensor& bias, const Grad& y) {
  walk_windows<false>(backend, c, x, weight, bias, y);
}

void depthwise_input_packs(const CudaBackend& backend, const Conv& c, const Tensor& dy, const Tensor& weight,
                           const Grad& dx) {
  walk_windows<true>(backend, c, dy, weight, {}, dx);
}

void depthwise_weight_packs(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& dy,
                            const Grad& dweight) {
  with_float(dy.dtype(), "convolution", [&](auto type) {
    using T = typename decltype(type)::type;
    const Share share = Share::of(c.channels, T{});
    // The number of blocks, and with it the order of the sums, depends on the size alone.
    const dim3 grid(share.blocks(c.pixels(), 2 * kTurns, 512), share.slices());
    const std::int64_t size = dweight.into.size();
    auto* partial = static_cast<float*>(backend.scratch(static_cast<std::size_t>(grid.x * size) * sizeof(float)));
    weight_kernel<T><<<grid, kThreads, 0, backend.stream()>>>(c, share, pointer<T>(x), pointer<T>(dy), partial);
    launch_check("depthwise_weight_packs");
    sum_partials(backend, {.data = partial, .chunks = grid.x, .width = size, .stride = size}, dweight);
  });
}

}  // namespace attend::cuda
