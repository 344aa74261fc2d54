// Convolutions of bf16 as implicit products on the tensor cores (tile_product.cuh): tiles of windows are gathered from
// the picture in chunks of eight channels, so channels come in multiples of eight. What is too small to fill the device
// is cut along the summed axis; the parts are f32 and added in order, so that the result is the same every time.
#include <algorithm>

#include "attend/cuda/conv/convolution.cuh"
#include "attend/cuda/conv/tile_product.cuh"
#include "attend/cuda/rows/activation.cuh"
#include "attend/cuda/rows/column_sums.cuh"

namespace attend::cuda {
namespace {

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
    const bf16* picture[Mine::kCount];
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
        picture[i] =
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
            valid ? picture[i] + static_cast<std::int64_t>(h * c.width + w) * c.channels + walk.channel : work.x;
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
    const bf16* picture[Mine::kCount];
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
        picture[i] = t.dy + static_cast<std::int64_t>(b) * t.c.results_h * t.c.results_w * t.c.results +
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
            valid ? picture[i] + static_cast<std::int64_t>(oh * c.results_w + ow) * c.results + walk.channel : work.dy;
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
    int n, group, end, begin;
    __device__ __forceinline__ B(const InputTiles& t, int first, int z)
        : work(t),
          n(first + 8 * Mine::chunk()),
          group(t.parts.group(z)),
          end(t.parts.end(z)),
          begin(t.parts.begin(z)) {}
    __device__ __forceinline__ void operator()(std::uint32_t tile, int step) const {
      const Conv& c = work.c;
#pragma unroll
      for (int i = 0; i < Mine::kCount; ++i) {
        const int k = begin + step * kTileDepth + Mine::row(i), tap = k / c.outputs, o = k - tap * c.outputs;
        const bool valid = k < end && n < c.inputs;
        const std::int64_t row = static_cast<std::int64_t>(group * c.outputs + o) * c.taps() + tap;
        copy_async(tile + Mine::offset(i), valid ? work.weight + row * c.inputs + n : work.weight, valid);
      }
    }
  };

  template <class CTile>
  __device__ __forceinline__ void store(float (&sums)[4][4], const TilePlace& at) const {
    result.store<CTile>(sums, at, parts.group(at.z), parts.part(at.z));
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
    int down, across, end, begin;
    bool inside;
    const bf16* channel;
    __device__ __forceinline__ B(const WeightTiles& t, int first, int z)
        : work(t), end(t.parts.end(z)), begin(t.parts.begin(z)) {
      const int n = first + 8 * Mine::chunk(), tap = n / t.c.inputs;
      inside = n < t.c.row();
      down = tap / t.c.kernel_w * t.c.dilation_h - t.c.padding_h;
      across = tap % t.c.kernel_w * t.c.dilation_w - t.c.padding_w;
      channel = t.x + t.parts.group(z) * t.c.inputs + n % t.c.inputs;
    }
    __device__ __forceinline__ void operator()(std::uint32_t tile, int step) const {
      const Conv& c = work.c;
#pragma unroll
      for (int i = 0; i < Mine::kCount; ++i) {
        const int p = begin + step * kTileDepth + Mine::row(i), rest = p / c.results_w;
        const int h = rest % c.results_h * c.stride_h + down, w = p % c.results_w * c.stride_w + across;
        const bool valid = inside && p < end && h >= 0 && h < c.height && w >= 0 && w < c.width;
        const std::int64_t place = (static_cast<std::int64_t>(rest / c.results_h) * c.height + h) * c.width + w;
        copy_async(tile + Mine::offset(i), valid ? channel + place * c.channels : work.x, valid);
      }
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

constexpr std::int64_t kUnits = 132;  // of an H200

template <class Work, int kM, int kN>
void launch(const CudaBackend& backend, const Work& work, std::int64_t rows, std::int64_t columns,
            std::int64_t copies) {
  using Product = TileProduct<Work, kM, kN>;
  static const bool prepared = [] {
    cuda_check(cudaFuncSetAttribute(tile_product_kernel<Work, kM, kN>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    Product::kBytes),
               "convolution");
    return true;
  }();
  static_cast<void>(prepared);
  const dim3 grid(blocks_for(rows, kM), static_cast<unsigned>(divide_up(columns, kN)), static_cast<unsigned>(copies));
  tile_product_kernel<Work, kM, kN><<<grid, kTileThreads, Product::kBytes, backend.stream()>>>(work);
  launch_check("convolution");
}

// Larger tiles read less; smaller ones leave fewer units idle.
template <class Work>
void launch_fitting(const CudaBackend& backend, const Work& work, std::int64_t rows, std::int64_t columns,
                    std::int64_t copies) {
  const std::int64_t down = divide_up(rows, 128) * copies;
  if (columns <= 64 && down >= kUnits)
    launch<Work, 128, 64>(backend, work, rows, columns, copies);
  else if (columns <= 64 || down * divide_up(columns, 128) < kUnits)
    launch<Work, 64, 64>(backend, work, rows, columns, copies);
  else
    launch<Work, 128, 128>(backend, work, rows, columns, copies);
}

// As many parts as fill the device twice over, each of at least four steps, within 64 MB of sums.
Parts parts_of(std::int64_t rows, std::int64_t columns, std::int64_t depth, int groups) {
  const std::int64_t blocks = divide_up(rows, 64) * divide_up(columns, 64) * groups,
                     steps = divide_up(depth, kTileDepth);
  std::int64_t parts =
      blocks >= kUnits ? 1 : std::min(divide_up(2 * kUnits, blocks), std::max<std::int64_t>(steps / 4, 1));
  parts = std::clamp<std::int64_t>(parts, 1,
                                   std::max<std::int64_t>(1, (std::int64_t{1} << 24) / (rows * columns * groups)));
  const std::int64_t each = divide_up(steps, parts) * kTileDepth;
  return {groups, static_cast<int>(depth), static_cast<int>(each)};
}
std::int64_t count_of(const Parts& parts) { return divide_up(parts.depth, parts.each); }

Result forward_result(const Conv& c, const Tensor& bias, Activation activation, const Grad& y) {
  return {pointer<bf16>(y.into),        nullptr,   pointer<bf16>(bias), c.results,
          static_cast<int>(c.pixels()), c.outputs, activation,          y.accumulate};
}

// Rows of fewer than eight numbers, filled up with zeros: the colours of a picture, and the weights that read them.
constexpr int kPadThreads = 256;
__global__ void pad_kernel(const bf16* from, int width, uint4* to, std::int64_t rows) {
  const std::int64_t row = blockIdx.x * static_cast<std::int64_t>(kPadThreads) + threadIdx.x;
  if (row >= rows) return;
  Pack<bf16, 8> pack;
#pragma unroll
  for (int i = 0; i < 8; ++i) pack.at[i] = i < width ? from[row * width + i] : from_float<bf16>(0);
  to[row] = *reinterpret_cast<const uint4*>(&pack);
}
void pad(const CudaBackend& backend, const bf16* from, int width, void* to, std::int64_t rows) {
  pad_kernel<<<blocks_for(rows, kPadThreads), kPadThreads, 0, backend.stream()>>>(from, width, static_cast<uint4*>(to),
                                                                                  rows);
  launch_check("convolution");
}

// rows [rows, stride] of a result, whole or by way of parts.
template <class Work>
void run_rows(CudaBackend& backend, Work work, std::int64_t rows, std::int64_t columns, const Grad& into) {
  const std::int64_t count = count_of(work.parts);
  if (count > 1)
    work.result.partial =
        static_cast<float*>(backend.scratch(static_cast<std::size_t>(count * into.into.size()) * sizeof(float)));
  launch_fitting(backend, work, rows, columns, count * work.parts.groups);
  if (count == 1) return;
  sum_partials(backend,
               {.data = work.result.partial, .chunks = count, .width = into.into.size(), .stride = into.into.size()},
               into);
  if (work.result.activation != Activation::none) backend.activation(into.into, work.result.activation, into.into);
}

}  // namespace

bool tiles_fit(const Conv& c, const Tensor& x, const Tensor& weight, const Tensor& y) {
  const std::int64_t most = std::int64_t{1} << 30;
  return x.dtype() == DType::bf16 && c.inputs % 8 == 0 && c.outputs % 8 == 0 && aligned16(x) && aligned16(weight) &&
         aligned16(y) && c.pixels() < most && c.places() < most;
}

void convolution_tiles(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& weight, const Tensor& bias,
                       Activation activation, const Grad& y) {
  const ForwardTiles work{c, pointer<bf16>(x), pointer<bf16>(weight), forward_result(c, bias, activation, y),
                          parts_of(c.pixels(), c.outputs, c.row(), c.groups)};
  run_rows(backend, work, c.pixels(), c.outputs, y);
}

bool padded_tiles_fit(const Conv& c, const Tensor& x, const Tensor& y) {
  return x.dtype() == DType::bf16 && c.groups == 1 && c.inputs < 8 && c.outputs % 8 == 0 && aligned16(y) &&
         c.pixels() < std::int64_t{1} << 30;
}

void convolution_padded_tiles(CudaBackend& backend, Conv c, const Tensor& x, const Tensor& weight, const Tensor& bias,
                              Activation activation, const Grad& y) {
  const std::int64_t places = c.places(), taps = static_cast<std::int64_t>(c.results) * c.taps();
  auto* wide_x = static_cast<bf16*>(backend.scratch(static_cast<std::size_t>(places + taps) * 16));
  bf16* wide_weight = wide_x + 8 * places;
  pad(backend, pointer<bf16>(x), c.inputs, wide_x, places);
  pad(backend, pointer<bf16>(weight), c.inputs, wide_weight, taps);
  c.inputs = c.channels = 8;
  const Parts whole{1, c.row(), static_cast<int>(divide_up(c.row(), kTileDepth)) * kTileDepth};
  run_rows(backend, ForwardTiles{c, wide_x, wide_weight, forward_result(c, bias, activation, y), whole}, c.pixels(),
           c.outputs, y);
}

void convolution_input_tiles(CudaBackend& backend, const Conv& c, const Tensor& dy, const Tensor& weight,
                             const Grad& dx) {
  const Result result{pointer<bf16>(dx.into),       nullptr,  nullptr,          c.channels,
                      static_cast<int>(c.places()), c.inputs, Activation::none, dx.accumulate};
  const Parts parts = parts_of(c.places(), c.inputs, static_cast<std::int64_t>(c.taps()) * c.outputs, c.groups);
  run_rows(backend, InputTiles{c, pointer<bf16>(dy), pointer<bf16>(weight), result, parts}, c.places(), c.inputs, dx);
}

void convolution_weight_tiles(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& dy,
                              const Grad& dweight) {
  const Parts parts = parts_of(c.outputs, c.row(), c.pixels(), c.groups);
  const std::int64_t count = count_of(parts), size = dweight.into.size();
  auto* partial = static_cast<float*>(backend.scratch(static_cast<std::size_t>(count * size) * sizeof(float)));
  launch_fitting(backend, WeightTiles{c, pointer<bf16>(x), pointer<bf16>(dy), partial, parts}, c.outputs, c.row(),
                 count * c.groups);
  sum_partials(backend, {.data = partial, .chunks = count, .width = size, .stride = size}, dweight);
}

}  // namespace attend::cuda
