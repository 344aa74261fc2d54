// Convolutions as implicit products, of any type and shape (convolution_tiles.cu has those that are asked for most):
// blocks of 64 x 64 results whose operands are gathered from the image tile by
// tile, so that the windows are never laid out in memory. f32 is multiplied exactly, bf16 by the matrix units (WMMA);
// sums are f32. The gradient of the weight sums over all pixels: chunks of them, added up in order, so that it is the
// same every time.
#include <mma.h>

#include <algorithm>

#include "attend/cuda/conv/convolution.cuh"
#include "attend/cuda/conv/window_convolution.cuh"
#include "attend/cuda/rows/activation.cuh"
#include "attend/cuda/rows/column_sums.cuh"
#include "attend/cuda/way_planner.h"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTile = 64;   // results per side
constexpr int kDepth = 16;  // of the inner axis at a time
constexpr int kPad = 8;     // keeps WMMA's rows 16 bytes apart from the same banks

// c[m, n] = Σ_k a(m, k) b(k, n), for each group.
struct Sizes {
  std::int64_t m, k;
  int n;
};

// y[pixel, o] from x and the weight.
template <class T>
struct Forward {
  Conv c;
  const T *x, *weight, *bias;
  Activation activation;
  T* y;
  bool accumulate;

  __device__ Sizes sizes() const {
    return {static_cast<std::int64_t>(c.batch) * c.results_h * c.results_w, c.row(), c.outputs};
  }
  __device__ T a(std::int64_t m, std::int64_t k, int group) const {
    const int tap = static_cast<int>(k) / c.inputs, channel = static_cast<int>(k) - tap * c.inputs;
    const int i = tap / c.kernel_w, j = tap - i * c.kernel_w;
    const int ow = static_cast<int>(m % c.results_w), oh = static_cast<int>(m / c.results_w % c.results_h);
    const T* at =
        place_of(c, x, static_cast<int>(m / c.results_w / c.results_h),
                 oh * c.stride_h - c.padding_h + i * c.dilation_h, ow * c.stride_w - c.padding_w + j * c.dilation_w);
    return at ? at[group * c.inputs + channel] : from_float<T>(0);
  }
  __device__ T b(std::int64_t k, int n, int group) const {
    return weight[static_cast<std::int64_t>(group * c.outputs + n) * c.row() + k];
  }
  __device__ void put(std::int64_t m, int n, int group, float value) const {
    const int o = group * c.outputs + n;
    T& to = y[m * c.results + o];
    if (bias) value += to_float(bias[o]);
    float result[1] = {value};
    activate(activation, result);
    value = result[0];
    to = from_float<T>(accumulate ? to_float(to) + value : value);
  }
};

// dx[place, channel] from dy and the weight.
template <class T>
struct Input {
  Conv c;
  const T *dy, *weight;
  T* dx;
  bool accumulate;

  __device__ Sizes sizes() const {
    return {static_cast<std::int64_t>(c.batch) * c.height * c.width, static_cast<std::int64_t>(c.taps()) * c.outputs,
            c.inputs};
  }
  __device__ T a(std::int64_t m, std::int64_t k, int group) const {
    const int tap = static_cast<int>(k) / c.outputs, o = static_cast<int>(k) - tap * c.outputs;
    const int i = tap / c.kernel_w, j = tap - i * c.kernel_w;
    const int w = static_cast<int>(m % c.width), h = static_cast<int>(m / c.width % c.height);
    const int oh = reader(h, i, c.stride_h, c.padding_h, c.dilation_h, c.results_h);
    const int ow = reader(w, j, c.stride_w, c.padding_w, c.dilation_w, c.results_w);
    if (oh < 0 || ow < 0) return from_float<T>(0);
    const std::int64_t b = m / c.width / c.height;
    return dy[((b * c.results_h + oh) * c.results_w + ow) * c.results + group * c.outputs + o];
  }
  __device__ T b(std::int64_t k, int n, int group) const {
    const int tap = static_cast<int>(k) / c.outputs, o = static_cast<int>(k) - tap * c.outputs;
    return weight[(static_cast<std::int64_t>(group * c.outputs + o) * c.taps() + tap) * c.inputs + n];
  }
  __device__ void put(std::int64_t m, int n, int group, float value) const {
    T& to = dx[m * c.channels + group * c.inputs + n];
    to = from_float<T>(accumulate ? to_float(to) + value : value);
  }
};

// dweight[o, (tap, channel)] over the pixels of one chunk, into partial [chunks, O, row].
template <class T>
struct Weight {
  Conv c;
  const T *x, *dy;
  float* partial;
  std::int64_t pixels, chunk;  // of them in all, and in one chunk

  __device__ std::int64_t begin() const { return blockIdx.z / c.groups * chunk; }
  __device__ Sizes sizes() const { return {c.outputs, min(chunk, pixels - begin()), c.row()}; }
  __device__ T a(std::int64_t m, std::int64_t k, int group) const {
    return dy[(begin() + k) * c.results + group * c.outputs + m];
  }
  __device__ T b(std::int64_t k, int n, int group) const {
    return Forward<T>{c, x, nullptr, nullptr, Activation::none, nullptr, false}.a(begin() + k, n, group);
  }
  __device__ void put(std::int64_t m, int n, int group, float value) const {
    const std::int64_t row = blockIdx.z / c.groups * static_cast<std::int64_t>(c.results) + group * c.outputs + m;
    partial[row * c.row() + n] = value;
  }
};

// Both operands of the next kDepth steps, zeros beyond the edges: a as [m][k], b as [k][n].
template <class T, class Product>
__device__ __forceinline__ void gather(const Product& product, const Sizes& sizes, std::int64_t row, int column,
                                       std::int64_t depth, int group, T (*a)[kDepth + kPad], T (*b)[kTile + kPad]) {
  for (int i = threadIdx.x; i < kTile * kDepth; i += kThreads) {
    const int m = i / kDepth, k = i % kDepth;
    const bool inside = row + m < sizes.m && depth + k < sizes.k;
    a[m][k] = inside ? product.a(row + m, depth + k, group) : from_float<T>(0);
  }
  for (int i = threadIdx.x; i < kTile * kDepth; i += kThreads) {
    const int k = i / kTile, n = i % kTile;
    const bool inside = column + n < sizes.n && depth + k < sizes.k;
    b[k][n] = inside ? product.b(depth + k, column + n, group) : from_float<T>(0);
  }
}

// f32: four by four results per thread.
template <class Product>
__global__ void __launch_bounds__(kThreads) exact_kernel(Product product) {
  __shared__ float a[kTile][kDepth + kPad], b[kDepth][kTile + kPad];
  const Sizes sizes = product.sizes();
  const int group = blockIdx.z % product.c.groups;
  const std::int64_t row = blockIdx.x * static_cast<std::int64_t>(kTile);
  const int column = blockIdx.y * kTile, left = threadIdx.x % 16, top = threadIdx.x / 16;
  float sum[4][4] = {};
  for (std::int64_t depth = 0; depth < sizes.k; depth += kDepth) {
    gather<float>(product, sizes, row, column, depth, group, a, b);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] += a[top + 16 * i][k] * b[k][left + 16 * j];
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const std::int64_t m = row + top + 16 * i;
      const int n = column + left + 16 * j;
      if (m < sizes.m && n < sizes.n) product.put(m, n, group, sum[i][j]);
    }
}

// bf16: eight warps, each 16 rows by 32 columns.
template <class Product>
__global__ void __launch_bounds__(kThreads) matrix_kernel(Product product) {
  using namespace nvcuda;
  __shared__ __align__(32) bf16 a[kTile][kDepth + kPad];
  __shared__ __align__(32) bf16 b[kDepth][kTile + kPad];
  __shared__ __align__(32) float c[kTile][kTile + kPad];
  const Sizes sizes = product.sizes();
  const int group = blockIdx.z % product.c.groups;
  const std::int64_t row = blockIdx.x * static_cast<std::int64_t>(kTile);
  const int column = blockIdx.y * kTile, warp = threadIdx.x / 32, top = warp / 2 * 16, left = warp % 2 * 32;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2];
  for (auto& each : sum) wmma::fill_fragment(each, 0.0f);
  for (std::int64_t depth = 0; depth < sizes.k; depth += kDepth) {
    gather<bf16>(product, sizes, row, column, depth, group, a, b);
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, wmma::row_major> rows;
    wmma::load_matrix_sync(rows, &a[top][0], kDepth + kPad);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, wmma::row_major> columns;
      wmma::load_matrix_sync(columns, &b[0][left + 16 * j], kTile + kPad);
      wmma::mma_sync(sum[j], rows, columns, sum[j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int j = 0; j < 2; ++j)
    wmma::store_matrix_sync(&c[top][left + 16 * j], sum[j], kTile + kPad, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < kTile * kTile; i += kThreads) {
    const std::int64_t m = row + i / kTile;
    const int n = column + i % kTile;
    if (m < sizes.m && n < sizes.n) product.put(m, n, group, c[i / kTile][i % kTile]);
  }
}

template <class T, class Product>
void launch(const CudaBackend& backend, const Product& product, std::int64_t rows, std::int64_t columns,
            std::int64_t copies) {
  check(divide_up(columns, kTile) <= 65535 && copies <= 65535,
        "convolution: cuda: {} columns in {} groups are too many", columns, copies);
  const dim3 grid(blocks_for(rows, kTile), static_cast<unsigned>(divide_up(columns, kTile)),
                  static_cast<unsigned>(copies));
  if constexpr (sizeof(T) == 4)
    exact_kernel<<<grid, kThreads, 0, backend.stream()>>>(product);
  else
    matrix_kernel<<<grid, kThreads, 0, backend.stream()>>>(product);
  launch_check("convolution");
}

// What the choice of a way depends on.
std::string key_of(const char* product, const Conv& c, const Grad& into) {
  return fmt::format("{}:{}x{}>{}:{}x{}/{}x{}*{}x{}+{}x{}:{}{}", product, size_bucket(c.pixels()), c.channels,
                     c.results, c.kernel_h, c.kernel_w, c.stride_h, c.stride_w, c.dilation_h, c.dilation_w, c.padding_h,
                     c.padding_w, name_of(into.into.dtype()), into.accumulate ? "+" : "");
}

// Hopper's ways come first: while there is no time for a race, one of them is taken unless the problem is small.
void add_ways(std::vector<Way>& ways, const std::vector<WindowWay>& windows, const std::string& prefix,
              const std::function<bool(const WindowWay&, const Grad&)>& run) {
  for (const WindowWay& way : windows)
    ways.push_back({way.parts > 1 ? fmt::format("{}{}/{}", prefix, way.name, way.parts) : prefix + way.name,
                    [way, run](const Grad& into) { return run(way, into); }});
}

// Below as many multiply-adds the launch is most of the time.
bool is_small(const Conv& c) {
  return static_cast<double>(c.pixels()) * c.results * c.row() < static_cast<double>(std::int64_t{1} << 26);
}

}  // namespace

Conv::Conv(const Convolution& args, const Tensor& x, const Tensor& weight, const Tensor& y) {
  for (const Tensor& each : {x, weight, y})
    for (std::int64_t dim : each.shape()) check(dim < 1 << 28, "convolution: cuda: an axis of {} places", dim);
  const auto as_int = [](std::int64_t value) { return static_cast<int>(value); };
  check(weight.dim(1) * weight.dim(2) * weight.dim(3) < 1 << 28 && weight.dim(1) * weight.dim(2) * y.dim(3) < 1 << 28,
        "convolution: cuda: windows of {} are too large", weight.shape());
  batch = as_int(x.dim(0)), height = as_int(x.dim(1)), width = as_int(x.dim(2)), channels = as_int(x.dim(3));
  results_h = as_int(y.dim(1)), results_w = as_int(y.dim(2)), results = as_int(y.dim(3));
  kernel_h = as_int(weight.dim(1)), kernel_w = as_int(weight.dim(2)), inputs = as_int(weight.dim(3));
  groups = as_int(args.groups), outputs = results / groups;
  stride_h = as_int(args.stride.h), stride_w = as_int(args.stride.w);
  padding_h = as_int(args.padding.h), padding_w = as_int(args.padding.w);
  dilation_h = as_int(args.dilation.h), dilation_w = as_int(args.dilation.w);
}

}  // namespace cuda

void CudaBackend::convolution(const Convolution& args, const Tensor& x, const Tensor& weight, const Tensor& bias,
                              Activation activation, const Grad& y) {
  using namespace cuda;
  if (!y || y.into.size() == 0) return;
  const Conv c(args, x, weight, y.into);
  if (is_depthwise(args, weight)) {
    depthwise(*this, c, x, weight, bias, y);
    if (activation != Activation::none) this->activation(y.into, activation, y.into);
    return;
  }
  const bool eights = tiles_fit(c, x, weight, y.into);
  if (eights || filled_tiles_fit(c, x)) {
    const Activation fused = fuses_in_windows(activation) ? activation : Activation::none;
    std::vector<Way> ways;
    const std::vector<WindowWay> windows = window_row_ways(c.pixels(), c.outputs, multiprocessors());
    const auto ended = [&](bool ran, const Grad& into) {
      if (ran && fused != activation) this->activation(into.into, activation, into.into);
      return ran;
    };
    if (windows_fit(*this, c, x, weight, y.into))
      add_ways(ways, windows, "", [&](const WindowWay& way, const Grad& into) {
        return ended(convolution_windows(*this, c, x, weight, bias, fused, into, way), into);
      });
    if (folded_windows_fit(*this, c, x, weight, y.into))
      add_ways(ways, windows, "folded-", [&](const WindowWay& way, const Grad& into) {
        return ended(convolution_folded_windows(*this, c, x, weight, bias, fused, into, way), into);
      });
    const Way tiles{"tiles", [&](const Grad& into) {
                      eights ? convolution_tiles(*this, c, x, weight, bias, activation, into)
                             : convolution_filled_tiles(*this, c, x, weight, bias, activation, into);
                      return true;
                    }};
    ways.insert(is_small(c) ? ways.begin() : ways.end(), tiles);
    return convolutions_->run(key_of("forward", c, y), ways, y);
  }
  with_float(x.dtype(), "convolution", [&](auto type) {
    using T = typename decltype(type)::type;
    const Forward<T> product{c,          pointer<T>(x),      pointer<T>(weight), pointer<T>(bias),
                             activation, pointer<T>(y.into), y.accumulate};
    launch<T>(*this, product, c.pixels(), c.outputs, c.groups);
  });
}

void CudaBackend::convolution_input(const Convolution& args, const Tensor& dy, const Tensor& weight, const Grad& dx) {
  using namespace cuda;
  if (!dx || dx.into.size() == 0) return;
  const Conv c(args, dx.into, weight, dy);
  if (is_depthwise(args, weight)) return depthwise_input(*this, c, dy, weight, dx);
  if (tiles_fit(c, dy, weight, dx.into)) {
    std::vector<Way> ways;
    if (windows_fit(*this, c, dy, weight, dx.into))
      add_ways(ways, window_row_ways(c.places(), c.inputs, multiprocessors()), "",
               [&](const WindowWay& way, const Grad& into) {
                 return convolution_input_windows(*this, c, dy, weight, into, way);
               });
    const Way tiles{"tiles", [&](const Grad& into) {
                      convolution_input_tiles(*this, c, dy, weight, into);
                      return true;
                    }};
    ways.insert(is_small(c) ? ways.begin() : ways.end(), tiles);
    return convolutions_->run(key_of("input", c, dx), ways, dx);
  }
  if (filled_tiles_fit(c, dy)) return convolution_input_filled_tiles(*this, c, dy, weight, dx);
  with_float(dy.dtype(), "convolution", [&](auto type) {
    using T = typename decltype(type)::type;
    launch<T>(*this, Input<T>{c, pointer<T>(dy), pointer<T>(weight), pointer<T>(dx.into), dx.accumulate}, c.places(),
              c.inputs, c.groups);
  });
}

void CudaBackend::convolution_weight(const Convolution& args, const Tensor& x, const Tensor& dy, const Grad& dweight) {
  using namespace cuda;
  if (!dweight || dweight.into.size() == 0) return;
  if (dy.size() == 0) {
    if (!dweight.accumulate) fill(dweight.into, 0);
    return;
  }
  const Conv c(args, x, dweight.into, dy);
  if (is_depthwise(args, dweight.into)) return depthwise_weight(*this, c, x, dy, dweight);
  const bool eights = tiles_fit(c, x, {}, dy);
  if (eights || filled_tiles_fit(c, x)) {
    std::vector<Way> ways;
    if (windows_fit(*this, c, x, {}, dy))
      add_ways(ways, window_weight_ways(c, false, multiprocessors()), "", [&](const WindowWay& way, const Grad& into) {
        return convolution_weight_windows(*this, c, x, dy, into, way);
      });
    if (folded_windows_fit(*this, c, x, {}, dy))
      add_ways(ways, window_weight_ways(c, true, multiprocessors()), "folded-",
               [&](const WindowWay& way, const Grad& into) {
                 return convolution_weight_folded_windows(*this, c, x, dy, into, way);
               });
    const Way tiles{"tiles", [&](const Grad& into) {
                      eights ? convolution_weight_tiles(*this, c, x, dy, into)
                             : convolution_weight_filled_tiles(*this, c, x, dy, into);
                      return true;
                    }};
    ways.insert(is_small(c) ? ways.begin() : ways.end(), tiles);
    return convolutions_->run(key_of("weight", c, dweight), ways, dweight);
  }
  // As many chunks as fill the device once over, of at least some hundred pixels, within 256 MB of partial sums.
  const std::int64_t size = dweight.into.size(),
                     tiles = divide_up(c.outputs, kTile) * divide_up(c.row(), kTile) * c.groups;
  const std::int64_t most =
      std::max<std::int64_t>(1, std::min((std::int64_t{1} << 26) / size, std::int64_t{65535} / c.groups));
  const std::int64_t wanted = std::min(divide_up(std::int64_t{4} * 132, tiles), divide_up(c.pixels(), 256));
  const std::int64_t chunk = divide_up(c.pixels(), std::clamp<std::int64_t>(wanted, 1, most));
  const std::int64_t chunks = divide_up(c.pixels(), chunk);
  auto* partial = static_cast<float*>(scratch(static_cast<std::size_t>(chunks * size) * sizeof(float)));
  with_float(dy.dtype(), "convolution", [&](auto type) {
    using T = typename decltype(type)::type;
    launch<T>(*this, Weight<T>{c, pointer<T>(x), pointer<T>(dy), partial, c.pixels(), chunk}, c.outputs, c.row(),
              chunks * c.groups);
  });
  sum_partials(*this, {.data = partial, .chunks = chunks, .width = size, .stride = size}, dweight);
}

}  // namespace attend
