// The gradient of a convolution's weight on Hopper's tensor cores (sm_90a), bf16:
//   dweight[o, (tap, channel)] = Σ over pixels dy[pixel, o] · x[window of the pixel, (tap, channel)]
// The summed axis, pixels, is the one that both operands do not have contiguous: the tensor cores read both tiles down
// their columns. Columns of the result come in panels of 64 channels of one tap, each a copy of windows of its own. The
// pixels are cut into parts, whose f32 sums are added in order afterwards.
#pragma once

#include "attend/cuda/bulk_copy.cuh"
#include "attend/cuda/conv/window_rows.cuh"
#include "attend/cuda/group_multiply.cuh"

namespace attend::cuda {

struct WindowWeightProblem {
  images::WindowWalk walk;
  images::StageParts parts;
  int results = 0, channels = 0;  // O, and those of a tap
  int kernel_w = 1, blocks = 1;   // blocks of 64 channels
  int row_tiles = 0, column_tiles = 0;
  float* partial = nullptr;  // [parts, O, taps · channels]
};

struct WindowWeightMaps {
  CUtensorMap dy, x;
};

// kShare: the groups have 64 results each and the same columns; else the same 64 results and kColumns each.
template <bool kShare_, int kColumns_>
struct WindowWeightTile {
  static constexpr bool kShare = kShare_;
  static constexpr int kColumns = kColumns_;
  static constexpr int kRowPanels = kShare ? 2 : 1, kColumnPanels = (kShare ? 1 : 2) * kColumns / 64;
  using Panel = SharedTile<kWindowDepth, 64>;
  using Columns = SharedTile<kWindowDepth, kColumns>;  // a group's: panels in a row
  static constexpr int kStageBytes = (kRowPanels + kColumnPanels) * Panel::kBytes;
  static constexpr int kStages = 226 * 1024 / kStageBytes < 8 ? 226 * 1024 / kStageBytes : 8;

  struct Shared {
    unsigned char a[kStages][kRowPanels][Panel::kBytes];
    unsigned char b[kStages][kColumnPanels][Panel::kBytes];
    std::uint64_t full[kStages], empty[kStages];
  };
  static_assert(sizeof(Shared) <= 227 * 1024 && kStages >= 3);
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <class Tile>
struct WindowWeightKernel {
  using Panel = typename Tile::Panel;

  typename Tile::Shared& shared;
  const WindowWeightMaps& maps;
  const WindowWeightProblem& problem;
  int row, panel, part;  // the block's: its first result, its first panel of columns

  // Tiles of one part follow each other: they read the same pixels.
  __device__ __forceinline__ WindowWeightKernel(typename Tile::Shared& s, const WindowWeightMaps& m,
                                                const WindowWeightProblem& p)
      : shared(s), maps(m), problem(p) {
    const int block = blockIdx.x, of_part = block / p.row_tiles;
    row = (block - of_part * p.row_tiles) * Tile::kRowPanels * 64;
    part = of_part / p.column_tiles;
    panel = (of_part - part * p.column_tiles) * Tile::kColumnPanels;
  }
  __device__ __forceinline__ int stages() const { return problem.parts.end(part) - problem.parts.begin(part); }
  __device__ __forceinline__ int row_panels() const { return min(Tile::kRowPanels, (problem.results - row + 63) / 64); }
  __device__ __forceinline__ int column_panels() const {
    return min(Tile::kColumnPanels, problem.walk.taps() * problem.blocks - panel);
  }

  // One warp, of which one thread orders.
  __device__ __forceinline__ void copy() const {
    const images::WindowWalk& walk = problem.walk;
    const int first = problem.parts.begin(part), rows = row_panels(), columns = column_panels();
#pragma unroll 1
    for (int step = 0; step < stages(); ++step) {
      const int stage = step % Tile::kStages;
      const std::uint32_t full = shared_address(&shared.full[stage]);
      if (step >= Tile::kStages) barrier_wait(shared_address(&shared.empty[stage]), (step / Tile::kStages - 1) & 1);
      __syncwarp();
      if (threadIdx.x % kWarp != 0) continue;
      const int pixel = (first + step) * kWindowDepth;
      const images::WalkBase base = walk.base_of(pixel);
      barrier_expect(full, (rows + columns) * Panel::kBytes);
      for (int i = 0; i < rows; ++i) copy_tile(shared_address(shared.a[stage][i]), maps.dy, row + i * 64, pixel, full);
      images::TapStep at = images::TapStep::at(walk, problem.blocks, panel);
      for (int i = 0; i < columns; ++i, at.advance(walk, problem.blocks))
        copy_windows(shared_address(shared.b[stage][i]), maps.x, at.block * 64, base, walk.h.taps.offset_of(at.down),
                     walk.w.taps.offset_of(at.across), full);
    }
  }

  __device__ __forceinline__ void multiply_part(float (&c)[Tile::kColumns / 8][4], int group) const {
    using Products = GroupProducts;
    const int count = stages();
    const auto release = [&](int step) {
      if (threadIdx.x % kWarp == 0) barrier_arrive(shared_address(&shared.empty[step % Tile::kStages]));
    };
#pragma unroll 1
    for (int step = 0; step < count; ++step) {
      const int stage = step % Tile::kStages;
      barrier_wait(shared_address(&shared.full[stage]), (step / Tile::kStages) & 1);
      __syncwarp();
      const TileDescriptor a = TileDescriptor::of<Panel>(shared_address(shared.a[stage][Tile::kShare ? group : 0]));
      const TileDescriptor b = TileDescriptor::of<typename Tile::Columns>(
          shared_address(shared.b[stage][Tile::kShare ? 0 : group * (Tile::kColumns / 64)]));
      Products::begin();
#pragma unroll
      for (int k = 0; k < kWindowDepth / 16; ++k)
        multiply<true, true>(c, a.at(Products::along_rows(k)), b.at(Products::along_rows(k)), step + k > 0);
      Products::commit();
      if (step == 0) continue;
      Products::wait<1>();
      release(step - 1);
    }
    Products::wait<0>(c);
  }

  __device__ __forceinline__ void store(const float (&c)[Tile::kColumns / 8][4], int group) const {
    const images::WindowWalk& walk = problem.walk;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp % 4;
    const int first = row + (Tile::kShare ? group * 64 : 0) + warp * 16 + lane / 4;
    const std::int64_t length = static_cast<std::int64_t>(walk.taps()) * problem.channels;
    float* const to = problem.partial + (static_cast<std::int64_t>(part) * problem.results + first) * length;
#pragma unroll
    for (int strip = 0; strip < Tile::kColumns / 64; ++strip) {
      const int at_panel = panel + (Tile::kShare ? 0 : group * (Tile::kColumns / 64)) + strip;
      if (at_panel >= walk.taps() * problem.blocks) continue;
      const images::TapStep at = images::TapStep::at(walk, problem.blocks, at_panel);
      float* const strip_to = to + at.tap(walk, problem.kernel_w) * problem.channels;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const int channel = at.block * 64 + j * 8 + lane % 4 * 2;
        if (channel >= problem.channels) continue;
        const float(&x)[4] = c[strip * 8 + j];
        if (first < problem.results) *reinterpret_cast<float2*>(strip_to + channel) = make_float2(x[0], x[1]);
        if (first + 8 < problem.results)
          *reinterpret_cast<float2*>(strip_to + 8 * length + channel) = make_float2(x[2], x[3]);
      }
    }
  }
};

#endif

template <class Tile>
__global__ void __launch_bounds__(kWindowThreads, 1)
    window_weight_kernel(const __grid_constant__ WindowWeightMaps maps,
                         const __grid_constant__ WindowWeightProblem problem) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  constexpr int kCopierRegisters = 40, kProductRegisters = 232;
  extern __shared__ __align__(1024) unsigned char memory[];
  typename Tile::Shared& shared = *reinterpret_cast<typename Tile::Shared*>(memory);
  const WindowWeightKernel<Tile> kernel(shared, maps, problem);
  const int group = __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x) / kWindowGroup, 0);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Tile::kStages; ++stage) {
      barrier_init(shared_address(&shared.full[stage]), 1);
      barrier_init(shared_address(&shared.empty[stage]), 8);  // the warps that read a stage
    }
    barriers_are_ready();
  }
  __syncthreads();
  if (group == 2) {
    fewer_registers<kCopierRegisters>();
    if (threadIdx.x < 2 * kWindowGroup + kWarp) kernel.copy();
  } else {
    more_registers<kProductRegisters>();
    float c[Tile::kColumns / 8][4];
    kernel.multiply_part(c, group);
    kernel.store(c, group);
  }
#endif
}

}  // namespace attend::cuda
