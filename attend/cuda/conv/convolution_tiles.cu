// Convolutions of bf16 as implicit products on the tensor cores (convolution_work.cuh): channels come in multiples of
// eight, or are filled up with zeros. What is too small to fill the device is cut along the summed axis; the parts are
// f32 and added in order, so that the result is the same every time.
#include <algorithm>

#include "attend/cuda/conv/convolution_work.cuh"
#include "attend/cuda/rows/column_sums.cuh"

namespace attend::cuda {
namespace {

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
  if (rows <= 64 && columns > 64)
    launch<Work, 64, 128>(backend, work, rows, columns, copies);
  else if (columns <= 64 && down >= kUnits)
    launch<Work, 128, 64>(backend, work, rows, columns, copies);
  else if (columns <= 64 || down * divide_up(columns, 128) < kUnits)
    launch<Work, 64, 64>(backend, work, rows, columns, copies);
  else
    launch<Work, 128, 128>(backend, work, rows, columns, copies);
}

// As many parts of the summed axis as fill the device twice over with tiles of this side, each of at least four steps,
// within 64 MB of sums.
Parts parts_of(std::int64_t rows, std::int64_t columns, std::int64_t depth, int groups, std::int64_t side) {
  const std::int64_t blocks = divide_up(rows, side) * divide_up(columns, side) * groups,
                     steps = divide_up(depth, kTileDepth);
  std::int64_t parts =
      blocks >= kUnits * 2 ? 1 : std::min(divide_up(2 * kUnits, blocks), std::max<std::int64_t>(steps / 4, 1));
  parts = std::clamp<std::int64_t>(parts, 1,
                                   std::max<std::int64_t>(1, (std::int64_t{1} << 24) / (rows * columns * groups)));
  const std::int64_t each = divide_up(steps, parts) * kTileDepth;
  return {groups, static_cast<int>(depth), static_cast<int>(each)};
}
// Where there are many results, and the summed axis is short: forward, and to the input.
Parts row_parts(std::int64_t rows, std::int64_t columns, std::int64_t depth, int groups) {
  if (divide_up(rows, 64) * divide_up(columns, 64) * groups >= kUnits)
    return {groups, static_cast<int>(depth), static_cast<int>(divide_up(depth, kTileDepth) * kTileDepth)};
  return parts_of(rows, columns, depth, groups, 64);
}
// The gradient of the weight: few results, of a long axis.
Parts weight_parts(const Conv& c) { return parts_of(c.outputs, c.row(), c.pixels(), c.groups, 128); }
std::int64_t count_of(const Parts& parts) { return divide_up(parts.depth, parts.each); }

Result forward_result(const Conv& c, const Tensor& bias, Activation activation, const Grad& y) {
  return {pointer<bf16>(y.into),        nullptr,   pointer<bf16>(bias), c.results,
          static_cast<int>(c.pixels()), c.outputs, activation,          y.accumulate};
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

// ---- Channels filled up to eights

std::int64_t to_eights(std::int64_t width) { return divide_up(width, 8) * 8; }
Conv filled(Conv c) {
  c.inputs = c.channels = static_cast<int>(to_eights(c.inputs));
  c.outputs = c.results = static_cast<int>(to_eights(c.outputs));
  return c;
}
Parts whole(std::int64_t depth) {
  return {1, static_cast<int>(depth), static_cast<int>(divide_up(depth, kTileDepth) * kTileDepth)};
}

constexpr int kFillThreads = 256;
// from [rows, width] as [.., wide / 8] packs, with zeros behind the numbers of a row and behind the rows.
__global__ void fill_kernel(const bf16* from, std::int64_t rows, int width, uint4* to, std::int64_t packs, int across) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kFillThreads) + threadIdx.x;
  if (i >= packs) return;
  const std::int64_t row = i / across;
  const int first = static_cast<int>(i - row * across) * 8;
  Pack<bf16, 8> pack;
#pragma unroll
  for (int j = 0; j < 8; ++j)
    pack.at[j] = row < rows && first + j < width ? from[row * width + first + j] : from_float<bf16>(0);
  to[i] = *reinterpret_cast<const uint4*>(&pack);
}
bf16* fill(const CudaBackend& backend, const bf16* from, std::int64_t rows, int width, bf16* to,
           std::int64_t all_rows) {
  const int across = static_cast<int>(divide_up(width, 8));
  const std::int64_t packs = all_rows * across;
  fill_kernel<<<blocks_for(packs, kFillThreads), kFillThreads, 0, backend.stream()>>>(
      from, rows, width, reinterpret_cast<uint4*>(to), packs, across);
  launch_check("convolution");
  return to;
}

// Σ of parts of from [parts, .., wide], without what was filled up: into [size / width, width].
template <class From, class To>
__global__ void crop_kernel(const From* from, int parts, std::int64_t part, int wide, To* to, int width,
                            std::int64_t size, bool accumulate) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kFillThreads) + threadIdx.x;
  if (i >= size) return;
  const std::int64_t at = i / width * wide + i % width;
  float sum = 0;
  for (int p = 0; p < parts; ++p) sum += to_float(from[p * part + at]);
  to[i] = from_float<To>(accumulate ? to_float(to[i]) + sum : sum);
}
struct Filled {
  int parts;
  std::int64_t part;  // size of each
  int wide, width;
};
template <class From>
void crop(const CudaBackend& backend, const From* from, const Filled& shape, const Grad& into) {
  with_float(into.into.dtype(), "convolution", [&](auto type) {
    using To = typename decltype(type)::type;
    crop_kernel<From, To><<<blocks_for(into.into.size(), kFillThreads), kFillThreads, 0, backend.stream()>>>(
        from, shape.parts, shape.part, shape.wide, pointer<To>(into.into), shape.width, into.into.size(),
        into.accumulate);
  });
  launch_check("convolution");
}

// One scratch area in pieces, one after the other; they are multiples of 16 bytes.
template <class... Sizes>
bf16* scratch_of(CudaBackend& backend, Sizes... elements) {
  return static_cast<bf16*>(backend.scratch(static_cast<std::size_t>((elements + ...)) * sizeof(bf16)));
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
                          row_parts(c.pixels(), c.outputs, c.row(), c.groups)};
  run_rows(backend, work, c.pixels(), c.outputs, y);
}

void convolution_input_tiles(CudaBackend& backend, const Conv& c, const Tensor& dy, const Tensor& weight,
                             const Grad& dx) {
  const Result result{pointer<bf16>(dx.into),       nullptr,  nullptr,          c.channels,
                      static_cast<int>(c.places()), c.inputs, Activation::none, dx.accumulate};
  const Parts parts = row_parts(c.places(), c.inputs, static_cast<std::int64_t>(c.taps()) * c.outputs, c.groups);
  run_rows(backend, InputTiles{c, pointer<bf16>(dy), pointer<bf16>(weight), result, parts}, c.places(), c.inputs, dx);
}

void convolution_weight_tiles(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& dy,
                              const Grad& dweight) {
  const Parts parts = weight_parts(c);
  const std::int64_t count = count_of(parts), size = dweight.into.size();
  auto* partial = static_cast<float*>(backend.scratch(static_cast<std::size_t>(count * size) * sizeof(float)));
  launch_fitting(backend, WeightTiles{c, pointer<bf16>(x), pointer<bf16>(dy), partial, parts}, c.outputs, c.row(),
                 count * c.groups);
  sum_partials(backend, {.data = partial, .chunks = count, .width = size, .stride = size}, dweight);
}

bool filled_tiles_fit(const Conv& c, const Tensor& x) {
  const std::int64_t most = std::int64_t{1} << 30;
  return x.dtype() == DType::bf16 && c.groups == 1 && c.pixels() < most && c.places() < most;
}

void convolution_filled_tiles(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& weight,
                              const Tensor& bias, Activation activation, const Grad& y) {
  const Conv wide = filled(c);
  const bool direct = wide.outputs == c.outputs && aligned16(y.into);
  const std::int64_t x_size = c.places() * wide.inputs, weight_size = wide.outputs * wide.row(),
                     y_size = direct ? 0 : c.pixels() * wide.outputs;
  bf16* at = scratch_of(backend, x_size, weight_size, y_size, wide.outputs);
  const bf16* wide_x = fill(backend, pointer<bf16>(x), c.places(), c.inputs, at, c.places());
  const bf16* wide_weight = fill(backend, pointer<bf16>(weight), static_cast<std::int64_t>(c.outputs) * c.taps(),
                                 c.inputs, at + x_size, static_cast<std::int64_t>(wide.outputs) * c.taps());
  bf16* wide_y = at + x_size + weight_size;
  const bf16* wide_bias = pointer<bf16>(bias);
  if (wide_bias && !direct) wide_bias = fill(backend, wide_bias, 1, c.outputs, wide_y + y_size, 1);
  const Result result{direct ? pointer<bf16>(y.into) : wide_y,
                      nullptr,
                      wide_bias,
                      wide.results,
                      static_cast<int>(c.pixels()),
                      wide.outputs,
                      activation,
                      direct && y.accumulate};
  launch_fitting(backend, ForwardTiles{wide, wide_x, wide_weight, result, whole(wide.row())}, c.pixels(), wide.outputs,
                 1);
  if (!direct) crop(backend, wide_y, {1, y_size, wide.outputs, c.outputs}, y);
}

void convolution_input_filled_tiles(CudaBackend& backend, const Conv& c, const Tensor& dy, const Tensor& weight,
                                    const Grad& dx) {
  const Conv wide = filled(c);
  const std::int64_t dy_size = c.pixels() * wide.outputs, weight_size = wide.outputs * wide.row(),
                     dx_size = c.places() * wide.inputs;
  bf16* at = scratch_of(backend, dy_size, weight_size, dx_size);
  const bf16* wide_dy = fill(backend, pointer<bf16>(dy), c.pixels(), c.outputs, at, c.pixels());
  const bf16* wide_weight = fill(backend, pointer<bf16>(weight), static_cast<std::int64_t>(c.outputs) * c.taps(),
                                 c.inputs, at + dy_size, static_cast<std::int64_t>(wide.outputs) * c.taps());
  bf16* wide_dx = at + dy_size + weight_size;
  const Result result{wide_dx,     nullptr,          nullptr, wide.channels, static_cast<int>(c.places()),
                      wide.inputs, Activation::none, false};
  const Parts parts = whole(static_cast<std::int64_t>(c.taps()) * wide.outputs);
  launch_fitting(backend, InputTiles{wide, wide_dy, wide_weight, result, parts}, c.places(), wide.inputs, 1);
  crop(backend, wide_dx, {1, dx_size, wide.inputs, c.inputs}, dx);
}

void convolution_weight_filled_tiles(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& dy,
                                     const Grad& dweight) {
  const Conv wide = filled(c);
  const Parts parts = weight_parts(wide);
  const std::int64_t count = count_of(parts), x_size = c.places() * wide.inputs, dy_size = c.pixels() * wide.outputs,
                     size = wide.outputs * wide.row();
  bf16* at = scratch_of(backend, x_size, dy_size, 2 * count * size);
  const bf16* wide_x = fill(backend, pointer<bf16>(x), c.places(), c.inputs, at, c.places());
  const bf16* wide_dy = fill(backend, pointer<bf16>(dy), c.pixels(), c.outputs, at + x_size, c.pixels());
  auto* partial = reinterpret_cast<float*>(at + x_size + dy_size);
  launch_fitting(backend, WeightTiles{wide, wide_x, wide_dy, partial, parts}, wide.outputs, wide.row(), count);
  crop(backend, partial, {static_cast<int>(count), size, wide.inputs, c.inputs}, dweight);
}

}  // namespace attend::cuda
