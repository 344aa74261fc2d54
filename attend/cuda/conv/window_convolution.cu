#include "attend/cuda/conv/window_convolution.cuh"

#include <algorithm>

#include "attend/cuda/capability.h"
#include "attend/cuda/conv/window_fold.cuh"
#include "attend/cuda/conv/window_rows.cuh"
#include "attend/cuda/conv/window_weight.cuh"
#include "attend/cuda/rows/column_sums.cuh"

namespace attend::cuda {
namespace {

using images::WindowWalk;

// An image as the engine sees it, and how its windows are walked.
WindowedImage whole_image(const bf16* data, int height, int width, int channels, const WindowWalk& walk) {
  const std::int64_t line = static_cast<std::int64_t>(width) * channels;
  return {.data = data, .channels = channels, .pixel = channels, .line = line, .image = line * height, .walk = walk};
}

WindowWalk walk_of(const Conv& c) {
  return {c.batch, images::forward_walk(c.height, c.results_h, c.kernel_h, c.stride_h, c.padding_h, c.dilation_h),
          images::forward_walk(c.width, c.results_w, c.kernel_w, c.stride_w, c.padding_w, c.dilation_w)};
}
WindowWalk input_walk_of(const Conv& c, int rest_h, int rest_w) {
  return {c.batch, images::input_walk(c.height, c.results_h, c.kernel_h, c.stride_h, c.padding_h, c.dilation_h, rest_h),
          images::input_walk(c.width, c.results_w, c.kernel_w, c.stride_w, c.padding_w, c.dilation_w, rest_w)};
}
// Of a folded image: windows of kernel_h x 1 whose pixels overlap.
WindowWalk folded_walk(const Conv& c, const images::Fold& fold) {
  return {c.batch, images::forward_walk(fold.height, c.results_h, fold.kernel_h, 1, 0, 1),
          images::forward_walk(c.results_w, c.results_w, 1, 1, 0, 1)};
}
WindowedImage folded_image(const bf16* data, const images::Fold& fold, const WindowWalk& walk) {
  const std::int64_t line = static_cast<std::int64_t>(fold.line) * fold.width;
  return {
      .data = data, .channels = fold.run, .pixel = fold.width, .line = line, .image = line * fold.height, .walk = walk};
}

bool on_hopper(const CudaBackend& backend) { return has_wgmma(backend.device()); }
bool small_enough(const Conv& c) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  return c.pixels() < kMost && c.places() < kMost;
}

// Zeros for the places of a walk without taps, 16 bytes per thread. (A way around the loop in the kernel below makes
// the compiler spill.)
__global__ void __launch_bounds__(kWindowThreads)
    window_zeros_kernel(const __grid_constant__ WindowProblem problem, std::int64_t packs) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kWindowThreads) + threadIdx.x;
  if (i >= packs) return;
  const WindowResult& result = problem.result;
  const int across = result.columns / 8, row = static_cast<int>(i / across);
  const std::int64_t place = problem.walk.place_of(row, result.height, result.width);
  reinterpret_cast<uint4*>(result.y)[place * across + (i - static_cast<std::int64_t>(row) * across)] = uint4{};
}

// A product of rows, ready but for the maps.
struct RowsLaunch {
  WindowedImage image;
  TiledHeads weight;
  WindowProblem problem;
};

template <class Kernel>
void allow_shared(Kernel* kernel, std::size_t bytes) {
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
             "convolution: shared memory");
}

// Several launches, or none where the engine refuses one of them.
template <class Tile>
bool launch_rows(const CudaBackend& backend, std::vector<RowsLaunch>& launches) {
  std::vector<WindowMaps> maps(launches.size());
  for (std::size_t i = 0; i < launches.size(); ++i) {
    RowsLaunch& launch = launches[i];
    WindowProblem& problem = launch.problem;
    problem.rows = problem.walk.rows();
    problem.row_tiles = static_cast<int>(divide_up(problem.rows, Tile::kRows));
    problem.column_tiles = static_cast<int>(divide_up(problem.result.columns, Tile::kColumns));
    problem.blocks = static_cast<int>(divide_up(launch.image.channels, kWindowDepth));
    problem.steps = problem.walk.taps() * problem.blocks;
    launch.weight.tile_rows = Tile::kByColumns ? kWindowDepth : Tile::kColumns;
    maps[i].b = tensor_map_of_heads(launch.weight);
    maps[i].c = problem.result.whole ? tensor_map({.data = problem.result.y,
                                                   .rows = problem.rows,
                                                   .columns = problem.result.columns,
                                                   .stride = problem.result.columns})
                                     : maps[i].b;
    maps[i].a = maps[i].b;
    if (problem.steps == 0) continue;  // nothing is read: zeros
    launch.image.tile_rows = Tile::kRows;
    const std::optional<CUtensorMap> windows = tensor_map_of_windows(launch.image);
    if (!windows) return false;
    maps[i].a = *windows;
  }
  const auto kernel = window_rows_kernel<Tile>;
  static const bool allowed = (allow_shared(kernel, sizeof(typename Tile::Shared)), true);
  static_cast<void>(allowed);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const WindowProblem& problem = launches[i].problem;
    if (problem.steps == 0) {
      const std::int64_t packs = static_cast<std::int64_t>(problem.rows) * (problem.result.columns / 8);
      window_zeros_kernel<<<blocks_for(packs, kWindowThreads), kWindowThreads, 0, backend.stream()>>>(problem, packs);
      launch_check("convolution");
      continue;
    }
    const int blocks = std::min(backend.multiprocessors(), problem.row_tiles * problem.column_tiles);
    kernel<<<blocks, kWindowThreads, sizeof(typename Tile::Shared), backend.stream()>>>(maps[i], problem);
    launch_check("convolution");
  }
  return true;
}

enum RowWay : std::uint8_t { kTurns64, kTurns128, kShare256x64, kShare256x128, kShare128x256 };

template <bool kByColumns>
bool launch_way(const CudaBackend& backend, std::vector<RowsLaunch>& launches, const WindowWay& way) {
  switch (static_cast<RowWay>(way.id)) {
    case kTurns64:
      return launch_rows<WindowTile<128, 64, true, kByColumns>>(backend, launches);
    case kTurns128:
      return launch_rows<WindowTile<128, 128, true, kByColumns>>(backend, launches);
    case kShare256x64:
      return launch_rows<WindowTile<128, 64, false, kByColumns>>(backend, launches);
    case kShare256x128:
      return launch_rows<WindowTile<128, 128, false, kByColumns>>(backend, launches);
    case kShare128x256:
      return launch_rows<WindowTile<64, 256, false, kByColumns>>(backend, launches);
  }
  return false;
}

WindowResult forward_result(const Conv& c, const Tensor& bias, Activation activation, const Grad& y) {
  return {.y = pointer<bf16>(y.into),
          .bias = pointer<bf16>(bias),
          .height = c.results_h,
          .width = c.results_w,
          .columns = c.outputs,
          .activation = activation,
          .accumulate = y.accumulate,
          .whole = !y.accumulate};
}

// A gradient of the weight: its launch but for the number of parts.
struct WeightLaunch {
  WindowedImage image;
  const bf16* dy;
  WindowWeightProblem problem;
};

WeightLaunch weight_launch(const Conv& c, const WindowedImage& image, const Tensor& dy, const WindowWay& way,
                           float* partial) {
  WeightLaunch launch{.image = image, .dy = pointer<bf16>(dy), .problem = {}};
  launch.problem.walk = image.walk;
  launch.problem.parts = {static_cast<int>(divide_up(c.pixels(), kWindowDepth)), way.parts};
  launch.problem.results = c.outputs;
  launch.problem.channels = static_cast<int>(image.channels);
  launch.problem.blocks = static_cast<int>(divide_up(image.channels, kWindowDepth));
  launch.problem.kernel_w = image.walk.w.taps.count;
  launch.problem.partial = partial;
  return launch;
}

template <class Tile>
bool launch_weight(const CudaBackend& backend, WeightLaunch launch) {
  WindowWeightProblem& problem = launch.problem;
  problem.row_tiles = static_cast<int>(divide_up(problem.results, 64 * Tile::kRowPanels));
  problem.column_tiles =
      static_cast<int>(divide_up(static_cast<std::int64_t>(problem.walk.taps()) * problem.blocks, Tile::kColumnPanels));
  launch.image.tile_rows = kWindowDepth;
  const std::optional<CUtensorMap> windows = tensor_map_of_windows(launch.image);
  if (!windows) return false;
  const WindowWeightMaps maps = {tensor_map({.data = launch.dy,
                                             .rows = problem.walk.rows(),
                                             .columns = problem.results,
                                             .stride = problem.results,
                                             .tile_rows = kWindowDepth}),
                                 *windows};
  const auto kernel = window_weight_kernel<Tile>;
  static const bool allowed = (allow_shared(kernel, sizeof(typename Tile::Shared)), true);
  static_cast<void>(allowed);
  const unsigned blocks =
      blocks_for(static_cast<std::int64_t>(problem.row_tiles) * problem.column_tiles * problem.parts.parts, 1);
  kernel<<<blocks, kWindowThreads, sizeof(typename Tile::Shared), backend.stream()>>>(maps, problem);
  launch_check("convolution");
  return true;
}

enum WeightWay : std::uint8_t { kShare128, kShare192, kShare256, kApart128, kApart192 };

bool launch_weight_way(const CudaBackend& backend, const WeightLaunch& launch, const WindowWay& way) {
  switch (static_cast<WeightWay>(way.id)) {
    case kShare128:
      return launch_weight<WindowWeightTile<true, 128>>(backend, launch);
    case kShare192:
      return launch_weight<WindowWeightTile<true, 192>>(backend, launch);
    case kShare256:
      return launch_weight<WindowWeightTile<true, 256>>(backend, launch);
    case kApart128:
      return launch_weight<WindowWeightTile<false, 128>>(backend, launch);
    case kApart192:
      return launch_weight<WindowWeightTile<false, 192>>(backend, launch);
  }
  return false;
}

}  // namespace

bool windows_fit(const CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& weight, const Tensor& y) {
  return x.dtype() == DType::bf16 && c.groups == 1 && c.inputs % 8 == 0 && c.outputs % 8 == 0 && aligned16(x) &&
         aligned16(weight) && aligned16(y) && small_enough(c) && on_hopper(backend);
}

bool folded_windows_fit(const CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& weight,
                        const Tensor& y) {
  return x.dtype() == DType::bf16 && c.inputs < 8 && c.outputs % 8 == 0 && aligned16(weight) && aligned16(y) &&
         small_enough(c) && folds(c) && on_hopper(backend);
}

std::vector<WindowWay> window_row_ways(std::int64_t rows, std::int64_t columns, int units) {
  const WindowWay turns64{"turns-128x64", kTurns64}, turns128{"turns-128x128", kTurns128},
      share64{"share-256x64", kShare256x64}, share128{"share-256x128", kShare256x128},
      share256{"share-128x256", kShare128x256};
  if (columns <= 64) return {turns64, share64, turns128, share128, share256};
  // Few tiles: small ones leave fewer units idle.
  const bool few = divide_up(rows, 128) * divide_up(columns, 128) < units;
  if (few) return {turns64, turns128, share64, share128, share256};
  return {turns128, share128, share256, turns64, share64};
}

std::vector<WindowWay> window_weight_ways(const Conv& c, bool folded, int units) {
  const std::int64_t length = folded ? static_cast<std::int64_t>(fold_of(c).kernel_h) * divide_up(fold_of(c).run, 64)
                                     : c.taps() * divide_up(c.inputs, 64);  // panels
  struct Kind {
    WindowWay way;
    int rows, panels;
  };
  std::vector<Kind> kinds = {{{"share-128x256", kShare256}, 128, 4},
                             {{"share-128x192", kShare192}, 128, 3},
                             {{"share-128x128", kShare128}, 128, 2},
                             {{"apart-64x256", kApart128}, 64, 4},
                             {{"apart-64x384", kApart192}, 64, 6}};
  const bool narrow = c.outputs <= 64;  // half of a tile of 128 would be empty
  if (narrow) std::rotate(kinds.begin(), kinds.begin() + 3, kinds.end());
  const std::int64_t stages = divide_up(c.pixels(), kWindowDepth), size = c.outputs * length * 64;
  // As many parts as fill the device once, twice or four times; each has at least four stages, and all 128 MB together.
  const std::int64_t most =
      std::max<std::int64_t>(1, std::min(stages / 4, (std::int64_t{1} << 25) / std::max<std::int64_t>(size, 1)));
  std::vector<WindowWay> ways;
  for (const Kind& kind : kinds) {
    const std::int64_t tiles = divide_up(c.outputs, kind.rows) * divide_up(length, kind.panels);
    std::int64_t before = 0;
    for (const int waves : {1, 2, 4}) {
      const std::int64_t parts = std::clamp<std::int64_t>(waves * units / tiles, 1, most);
      if (parts == before || (before > 0 && narrow != (kind.rows == 64))) continue;
      before = parts;
      WindowWay way = kind.way;
      way.parts = static_cast<int>(parts);
      ways.push_back(way);
    }
  }
  return ways;
}

bool convolution_windows(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         Activation activation, const Grad& y, const WindowWay& way) {
  const WindowWalk walk = walk_of(c);
  std::vector<RowsLaunch> launches(1);
  launches[0].image = whole_image(pointer<bf16>(x), c.height, c.width, c.inputs, walk);
  launches[0].weight = {
      .data = weight.raw(), .rows = c.outputs, .heads = c.taps(), .width = c.inputs, .stride = c.row()};
  launches[0].problem.walk = walk;
  launches[0].problem.kernel_w = c.kernel_w;
  launches[0].problem.result = forward_result(c, bias, activation, y);
  return launch_way<false>(backend, launches, way);
}

bool convolution_folded_windows(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& weight,
                                const Tensor& bias, Activation activation, const Grad& y, const WindowWay& way) {
  const images::Fold fold = fold_of(c);
  const WindowWalk walk = folded_walk(c, fold);
  const std::int64_t row = static_cast<std::int64_t>(fold.kernel_h) * fold.run,
                     size = static_cast<std::int64_t>(c.batch) * fold.height * fold.line * fold.width;
  auto* const folded = static_cast<bf16*>(backend.scratch(static_cast<std::size_t>(size + c.outputs * row) * 2));
  bf16* const folded_weight = folded + size;  // size is a multiple of eight
  std::vector<RowsLaunch> launches(1);
  launches[0].image = folded_image(folded, fold, walk);
  launches[0].weight = {
      .data = folded_weight, .rows = c.outputs, .heads = fold.kernel_h, .width = fold.run, .stride = row};
  launches[0].problem.walk = walk;
  launches[0].problem.result = forward_result(c, bias, activation, y);
  fold_image(backend, c, fold, pointer<bf16>(x), folded);
  fold_weight(backend, c, fold, pointer<bf16>(weight), folded_weight);
  return launch_way<false>(backend, launches, way);
}

bool convolution_input_windows(CudaBackend& backend, const Conv& c, const Tensor& dy, const Tensor& weight,
                               const Grad& dx, const WindowWay& way) {
  std::vector<RowsLaunch> launches;
  for (int rest_h = 0; rest_h < c.stride_h; ++rest_h)
    for (int rest_w = 0; rest_w < c.stride_w; ++rest_w) {
      const WindowWalk walk = input_walk_of(c, rest_h, rest_w);
      if (walk.rows() == 0 || (walk.taps() == 0 && dx.accumulate)) continue;
      RowsLaunch launch;
      launch.image = whole_image(pointer<bf16>(dy), c.results_h, c.results_w, c.outputs, walk);
      launch.weight = {
          .data = weight.raw(), .rows = c.outputs, .heads = c.taps(), .width = c.inputs, .stride = c.row()};
      launch.problem.walk = walk;
      launch.problem.kernel_w = c.kernel_w;
      launch.problem.result = {.y = pointer<bf16>(dx.into),
                               .height = c.height,
                               .width = c.width,
                               .columns = c.inputs,
                               .accumulate = dx.accumulate,
                               .whole = !dx.accumulate && c.stride_h == 1 && c.stride_w == 1};
      launches.push_back(launch);
    }
  return launch_way<true>(backend, launches, way);
}

bool convolution_weight_windows(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& dy,
                                const Grad& dweight, const WindowWay& way) {
  const std::int64_t size = dweight.into.size();
  auto* const partial =
      static_cast<float*>(backend.scratch(static_cast<std::size_t>(way.parts * size) * sizeof(float)));
  const WindowedImage image = whole_image(pointer<bf16>(x), c.height, c.width, c.inputs, walk_of(c));
  if (!launch_weight_way(backend, weight_launch(c, image, dy, way, partial), way)) return false;
  sum_partials(backend, {.data = partial, .chunks = way.parts, .width = size, .stride = size}, dweight);
  return true;
}

bool convolution_weight_folded_windows(CudaBackend& backend, const Conv& c, const Tensor& x, const Tensor& dy,
                                       const Grad& dweight, const WindowWay& way) {
  const images::Fold fold = fold_of(c);
  const std::int64_t each = static_cast<std::int64_t>(c.outputs) * fold.kernel_h * fold.run,
                     size = static_cast<std::int64_t>(c.batch) * fold.height * fold.line * fold.width;
  auto* const folded = static_cast<bf16*>(backend.scratch(static_cast<std::size_t>(size + 2 * way.parts * each) * 2));
  auto* const partial = reinterpret_cast<float*>(folded + size);
  const WindowedImage image = folded_image(folded, fold, folded_walk(c, fold));
  fold_image(backend, c, fold, pointer<bf16>(x), folded);
  if (!launch_weight_way(backend, weight_launch(c, image, dy, way, partial), way)) return false;
  unfold_weight(backend, c, fold, partial, way.parts, dweight);
  return true;
}

}  // namespace attend::cuda
