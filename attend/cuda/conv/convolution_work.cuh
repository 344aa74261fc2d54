// What convolution_tiles.cu multiplies: how tiles of windows, gradients and weights are gathered in chunks of eight
// channels, and where the sums go. For each of the three products of a convolution a Work of tile_product.cuh.
#pragma once

#include "attend/cuda/conv/convolution.cuh"
#include "attend/cuda/conv/tile_product.cuh"
#include "attend/cuda/rows/activation.cuh"

namespace attend::cuda {

// Which chunk of eight and which rows of a tile are this thread's.
template <class Tile>
struct Share {
  static constexpr int kChunks = Tile::kColumns / 8, kRowsAtOnce = kTileThreads / kChunks;
  static constexpr int kCount = Tile::kRows / kRowsAtOnce;
  static_assert(kTileThreads % kChunks == 0 && Tile::kRows % kRowsAtOnce == 0);
  static __device__ __forceinline__ int chunk() { return threadIdx.x % kChunks; }
  static __device__ __forceinline__ int row(int i) { return threadIdx.x / kChunks + i * kRowsAtOnce; }
  static __device__ __forceinline__ std::uint32_t offset(int i) { return Tile::offset(row(i), chunk()); }
};

// A place on a summed axis of (tap, channel), which goes on in steps of kTileDepth.
struct TapWalk {
  int tap, channel, width;
  __device__ __forceinline__ TapWalk(int first, int channels)
      : tap(first / channels), channel(first % channels), width(channels) {}
  __device__ __forceinline__ void advance() {
    channel += kTileDepth;
    while (channel >= width) channel -= width, ++tap;
  }
};

// Where sums go: bf16 rows, or f32 parts of them.
struct Result {
  bf16* y;
  float* partial;  // [parts, rows, stride]; null: y
  const bf16* bias;
  std::int64_t stride;  // of a row
  int rows, width;      // of a group's
  Activation activation;
  bool accumulate;

  template <class CTile>
  __device__ __forceinline__ void store(float (&c)[4][4], const TilePlace& at, int group, int part) const {
    const int lane = threadIdx.x & 31;
    if (bias && part == 0)
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int n = at.n + 8 * (at.chunk + j) + 2 * (lane & 3) + e;
          const float b = n < width ? to_float(bias[group * width + n]) : 0.0f;
          c[j][e] += b, c[j][2 + e] += b;
        }
    const std::int64_t first = static_cast<std::int64_t>(at.m) * stride + group * width + at.n;
    if (!partial) {
#pragma unroll
      for (int j = 0; j < 4; ++j) activate(activation, c[j]);
      const float ones[2] = {1, 1};
      const RowWindow window{y + first, stride, rows - at.m, width - at.n, accumulate};
      return store_rows<CTile>(c, ones, at.shared, at.row, at.chunk, window);
    }
    float* to = partial + part * (static_cast<std::int64_t>(rows) * stride) + first;
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = at.row + lane / 4 + 8 * half, column = 8 * (at.chunk + j) + 2 * (lane & 3);
        if (at.m + row < rows && at.n + column < width)
          *reinterpret_cast<float2*>(to + row * stride + column) = make_float2(c[j][2 * half], c[j][2 * half + 1]);
      }
  }
};

// The summed axis in parts: z = part · groups + group.
struct Parts {
  int groups, depth, each;  // places in all, and in a part: a multiple of kTileDepth
  __device__ __forceinline__ int group(int z) const { return z % groups; }
  __device__ __forceinline__ int part(int z) const { return z / groups; }
  __device__ __forceinline__ int begin(int z) const { return part(z) * each; }
  __device__ __forceinline__ int end(int z) const { return min(depth, begin(z) + each); }
  __device__ __forceinline__ int steps(int z) const { return (end(z) - begin(z) + kTileDepth - 1) / kTileDepth; }
};

// y[pixel, o] = Σ x[window, (tap, channel)] · weight[o, (tap, channel)].
struct ForwardTiles {
  static constexpr bool kRowsA = true, kRowsB = true;
  Conv c;
  const bf16 *x, *weight;
  Result result;
  Parts parts;
  __device__ __forceinline__ int steps(int z) const { return parts.steps(z); }

  template <class Tile>
  struct A {
    using Mine = Share<Tile>;
    const ForwardTiles& work;
    const bf16* image[Mine::kCount];
    int top[Mine::kCount], left[Mine::kCount];
    TapWalk walk;
    int end, k;
    __device__ __forceinline__ A(const ForwardTiles& w, int first, int z)
        : work(w),
          walk(w.parts.begin(z) + 8 * Mine::chunk(), w.c.inputs),
          end(w.parts.end(z)),
          k(w.parts.begin(z) + 8 * Mine::chunk()) {
#pragma unroll
      for (int i = 0; i < Mine::kCount; ++i) {
        const int m = first + Mine::row(i), ow = m % w.c.results_w, rest = m / w.c.results_w;
        const int oh = rest % w.c.results_h, b = rest / w.c.results_h;
        top[i] = m < w.result.rows ? oh * w.c.stride_h - w.c.padding_h : -(1 << 28);
        left[i] = ow * w.c.stride_w - w.c.padding_w;
        image[i] =
            w.x + static_cast<std::int64_t>(b) * w.c.height * w.c.width * w.c.channels + w.parts.group(z) * w.c.inputs;
      }
    }
    __device__ __forceinline__ void operator()(std::uint32_t tile, int) {
      const Conv& c = work.c;
      const int down = walk.tap / c.kernel_w * c.dilation_h, across = walk.tap % c.kernel_w * c.dilation_w;
#pragma unroll
      for (int i = 0; i < Mine::kCount; ++i) {
        const int h = top[i] + down, w = left[i] + across;
        const bool valid = k < end && h >= 0 && h < c.height && w >= 0 && w < c.width;
        const bf16* from =
            valid ? image[i] + static_cast<std::int64_t>(h * c.width + w) * c.channels + walk.channel : work.x;
        copy_async(tile + Mine::offset(i), from, valid);
      }
      walk.advance(), k += kTileDepth;
    }
  };

  template <class Tile>
  struct B {
    using Mine = Share<Tile>;
    const ForwardTiles& work;
    const bf16* rows;
    int first, end, k;
    __device__ __forceinline__ B(const ForwardTiles& w, int n, int z)
        : work(w),
          rows(w.weight + (static_cast<std::int64_t>(w.parts.group(z)) * w.c.outputs + n) * w.c.row()),
          first(n),
          end(w.parts.end(z)),
          k(w.parts.begin(z) + 8 * Mine::chunk()) {}
    __device__ __forceinline__ void operator()(std::uint32_t tile, int) {
#pragma unroll
      for (int i = 0; i < Mine::kCount; ++i) {
        const int n = Mine::row(i);
        const bool valid = k < end && first + n < work.c.outputs;
        copy_async(tile + Mine::offset(i), valid ? rows + static_cast<std::int64_t>(n) * work.c.row() + k : work.weight,
                   valid);
      }
      k += kTileDepth;
    }
  };

  template <class CTile>
  __device__ __forceinline__ void store(float (&sums)[4][4], const TilePlace& at) const {
    result.store<CTile>(sums, at, parts.group(at.z), parts.part(at.z));
  }
};

// dx[place, channel] = Σ dy[reader of the place by the tap, o] · weight[o, tap, channel].
struct InputTiles {
  static constexpr bool kRowsA = true, kRowsB = false;
  Conv c;
  const bf16 *dy, *weight;
  Result result;
  Parts parts;
  __device__ __forceinline__ int steps(int z) const { return parts.steps(z); }

  template <class Tile>
  struct A {
    using Mine = Share<Tile>;
    const InputTiles& work;
    const bf16* image[Mine::kCount];
    int h[Mine::kCount], w[Mine::kCount];
    TapWalk walk;
    int end, k;
    __device__ __forceinline__ A(const InputTiles& t, int first, int z)
        : work(t),
          walk(t.parts.begin(z) + 8 * Mine::chunk(), t.c.outputs),
          end(t.parts.end(z)),
          k(t.parts.begin(z) + 8 * Mine::chunk()) {
#pragma unroll
      for (int i = 0; i < Mine::kCount; ++i) {
        const int m = first + Mine::row(i), rest = m / t.c.width, b = rest / t.c.height;
        w[i] = m % t.c.width, h[i] = m < t.result.rows ? rest % t.c.height : -(1 << 28);
        image[i] = t.dy + static_cast<std::int64_t>(b) * t.c.results_h * t.c.results_w * t.c.results +
                   t.parts.group(z) * t.c.outputs;
      }
    }
    __device__ __forceinline__ void operator()(std::uint32_t tile, int) {
      const Conv& c = work.c;
      const int down = walk.tap / c.kernel_w, across = walk.tap % c.kernel_w;
#pragma unroll
      for (int i = 0; i < Mine::kCount; ++i) {
        const int oh = reader(h[i], down, c.stride_h, c.padding_h, c.dilation_h, c.results_h);
        const int ow = reader(w[i], across, c.stride_w, c.padding_w, c.dilation_w, c.results_w);
        const bool valid = k < end && oh >= 0 && ow >= 0;
        const bf16* from =
            valid ? image[i] + static_cast<std::int64_t>(oh * c.results_w + ow) * c.results + walk.channel : work.dy;
        copy_async(tile + Mine::offset(i), from, valid);
      }
      walk.advance(), k += kTileDepth;
    }
  };

  // Rows are (tap, o), columns channels.
  template <class Tile>
  struct B {
    using Mine = Share<Tile>;
    const InputTiles& work;
    int n, end, k, tap[Mine::kCount], o[Mine::kCount];
    const bf16* channel;
    __device__ __forceinline__ B(const InputTiles& t, int first, int z)
        : work(t),
          n(first + 8 * Mine::chunk()),
          end(t.parts.end(z)),
          k(t.parts.begin(z)),
          channel(t.weight + static_cast<std::int64_t>(t.parts.group(z)) * t.c.outputs * t.c.row() + n) {
#pragma unroll
      for (int i = 0; i < Mine::kCount; ++i) {
        const int at = k + Mine::row(i);
        tap[i] = at / t.c.outputs, o[i] = at - tap[i] * t.c.outputs;
      }
    }
    __device__ __forceinline__ void operator()(std::uint32_t tile, int) {
      const Conv& c = work.c;
#pragma unroll
      for (int i = 0; i < Mine::kCount; ++i) {
        const bool valid = k + Mine::row(i) < end && n < c.inputs;
        const std::int64_t row = static_cast<std::int64_t>(o[i]) * c.taps() + tap[i];
        copy_async(tile + Mine::offset(i), valid ? channel + row * c.inputs : work.weight, valid);
        for (o[i] += kTileDepth; o[i] >= c.outputs; o[i] -= c.outputs) ++tap[i];
      }
      k += kTileDepth;
    }
  };

  template <class CTile>
  __device__ __forceinline__ void store(float (&sums)[4][4], const TilePlace& at) const {
    result.store<CTile>(sums, at, parts.group(at.z), parts.part(at.z));
  }
};

// A pixel of the results, which goes on in steps of kTileDepth: a division for each would cost more than the product.
struct PixelStep {
  int images, rows, columns;
  __device__ __forceinline__ explicit PixelStep(const Conv& c) {
    const int each = c.results_h * c.results_w;
    images = kTileDepth / each;
    rows = (kTileDepth - images * each) / c.results_w;
    columns = kTileDepth - images * each - rows * c.results_w;
  }
};
struct Pixel {
  int b, h, w;
  __device__ __forceinline__ void set(const Conv& c, int number) {
    const int rest = number / c.results_w;
    w = number - rest * c.results_w, b = rest / c.results_h, h = rest - b * c.results_h;
  }
  __device__ __forceinline__ void advance(const Conv& c, const PixelStep& step) {
    w += step.columns, h += step.rows, b += step.images;
    if (w >= c.results_w) w -= c.results_w, ++h;
    if (h >= c.results_h) h -= c.results_h, ++b;
  }
};

// dweight[o, (tap, channel)] = Σ dy[pixel, o] · x[window of the pixel, (tap, channel)].
struct WeightTiles {
  static constexpr bool kRowsA = false, kRowsB = false;
  Conv c;
  const bf16 *x, *dy;
  float* partial;  // [parts, O, row]
  Parts parts;
  __device__ __forceinline__ int steps(int z) const { return parts.steps(z); }

  template <class Tile>
  struct A {
    using Mine = Share<Tile>;
    const WeightTiles& work;
    int m, end, begin;
    const bf16* columns;
    __device__ __forceinline__ A(const WeightTiles& t, int first, int z)
        : work(t),
          m(first + 8 * Mine::chunk()),
          end(t.parts.end(z)),
          begin(t.parts.begin(z)),
          columns(t.dy + t.parts.group(z) * t.c.outputs + m) {}
    __device__ __forceinline__ void operator()(std::uint32_t tile, int step) const {
#pragma unroll
      for (int i = 0; i < Mine::kCount; ++i) {
        const int p = begin + step * kTileDepth + Mine::row(i);
        const bool valid = p < end && m < work.c.outputs;
        copy_async(tile + Mine::offset(i), valid ? columns + static_cast<std::int64_t>(p) * work.c.results : work.dy,
                   valid);
      }
    }
  };

  template <class Tile>
  struct B {
    using Mine = Share<Tile>;
    const WeightTiles& work;
    int down, across, end, k;
    bool inside;
    const bf16* channel;
    PixelStep step_by;
    Pixel pixel[Mine::kCount];
    __device__ __forceinline__ B(const WeightTiles& t, int first, int z)
        : work(t), end(t.parts.end(z)), k(t.parts.begin(z)), step_by(t.c) {
      const int n = first + 8 * Mine::chunk(), tap = n / t.c.inputs;
      inside = n < t.c.row();
      down = tap / t.c.kernel_w * t.c.dilation_h - t.c.padding_h;
      across = tap % t.c.kernel_w * t.c.dilation_w - t.c.padding_w;
      channel = t.x + t.parts.group(z) * t.c.inputs + n % t.c.inputs;
#pragma unroll
      for (int i = 0; i < Mine::kCount; ++i) pixel[i].set(t.c, k + Mine::row(i));
    }
    __device__ __forceinline__ void operator()(std::uint32_t tile, int) {
      const Conv& c = work.c;
#pragma unroll
      for (int i = 0; i < Mine::kCount; ++i) {
        const int h = pixel[i].h * c.stride_h + down, w = pixel[i].w * c.stride_w + across;
        const bool valid = inside && k + Mine::row(i) < end && h >= 0 && h < c.height && w >= 0 && w < c.width;
        const std::int64_t place = (static_cast<std::int64_t>(pixel[i].b) * c.height + h) * c.width + w;
        copy_async(tile + Mine::offset(i), valid ? channel + place * c.channels : work.x, valid);
        pixel[i].advance(c, step_by);
      }
      k += kTileDepth;
    }
  };

  template <class CTile>
  __device__ __forceinline__ void store(float (&sums)[4][4], const TilePlace& at) const {
    const Result rows{nullptr,
                      partial + static_cast<std::int64_t>(parts.part(at.z)) * c.results * c.row() +
                          static_cast<std::int64_t>(parts.group(at.z)) * c.outputs * c.row(),
                      nullptr,
                      c.row(),
                      c.outputs,
                      c.row(),
                      Activation::none,
                      false};
    rows.store<CTile>(sums, at, 0, 0);
  }
};

}  // namespace attend::cuda
