// Products of windows with a weight on Hopper's tensor cores (sm_90a), bf16: the forward product, and the gradient of
// the input, which is the same over dy (images::WindowWalk).
//   y[place of row, column] (+)= f(Σ over taps and channels of the walk · weight + bias)
// The copy engine lays windows out as tiles in shared memory, so the kernel is a matrix product: one warp orders
// copies, two warpgroups multiply. They either take turns with tiles of their own, so that one multiplies while the
// other ends its tile, or share a tile of twice the size, which reads less.
#pragma once

#include "attend/cuda/bulk_copy.cuh"
#include "attend/cuda/group_multiply.cuh"
#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/activation.cuh"
#include "attend/cuda/rows/block.cuh"
#include "attend/cuda/tensor_map.h"

namespace attend::cuda {

inline constexpr int kWindowDepth = 64, kWindowGroup = 128, kWindowThreads = 3 * kWindowGroup;

// Where the results of a walk go.
struct WindowResult {
  bf16* y = nullptr;
  const bf16* bias = nullptr;  // may be null
  int height = 0, width = 0;   // of the image that y is
  int columns = 0;             // of a row of y
  Activation activation = Activation::none;
  bool accumulate = false;
  bool whole = false;  // rows are y's own and nothing is added: the copy engine stores them
};

struct WindowProblem {
  images::WindowWalk walk;
  WindowResult result;
  int rows = 0, row_tiles = 0, column_tiles = 0;
  int kernel_w = 1, blocks = 1, steps = 0;  // blocks of 64 channels; stages of the summed axis
};

struct WindowMaps {
  CUtensorMap a, b, c;
};

// kTurns: the groups take turns. kByColumns: the weight is [summed, column], as the gradient of the input reads it.
template <int kGroupRows_, int kColumns_, bool kTurns_, bool kByColumns_>
struct WindowTile {
  static constexpr int kGroupRows = kGroupRows_, kColumns = kColumns_, kHalves = kGroupRows / 64;
  static constexpr bool kTurns = kTurns_, kByColumns = kByColumns_;
  static constexpr int kRows = kTurns ? kGroupRows : 2 * kGroupRows;
  using A = SharedTile<kRows, kWindowDepth>;
  using B = SharedTile<kColumns, kWindowDepth>;
  using Columns = SharedTile<kWindowDepth, kColumns>;
  using Panel = SharedTile<64, 64>;  // of a result on its way out
  static constexpr int kStages = 195 * 1024 / (A::kBytes + B::kBytes) < 8 ? 195 * 1024 / (A::kBytes + B::kBytes) : 8;

  struct Shared {
    unsigned char a[kStages][A::kBytes];
    unsigned char b[kStages][B::kBytes];
    unsigned char panels[2][2][Panel::kBytes];
    int places[2][kGroupRows];
    std::uint64_t full[kStages], empty[kStages];
    std::uint64_t turn[2];  // of the groups to multiply
  };
  static_assert(sizeof(Shared) <= 227 * 1024);
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <class Tile>
struct WindowKernel {
  using Shared = typename Tile::Shared;
  using Panel = typename Tile::Panel;
  static constexpr int kHalves = Tile::kHalves, kPanelColumns = 64;
  using Sums = float[kHalves][Tile::kColumns / 8][4];

  Shared& shared;
  const WindowMaps& maps;
  const WindowProblem& problem;

  // Tiles of one row of tiles follow each other, so that they share windows in the cache.
  __device__ __forceinline__ int row_of(int tile) const { return tile / problem.column_tiles * Tile::kRows; }
  __device__ __forceinline__ int column_of(int tile) const { return tile % problem.column_tiles * Tile::kColumns; }
  __device__ __forceinline__ int tiles() const { return problem.row_tiles * problem.column_tiles; }

  // One warp, of which one thread orders.
  __device__ __forceinline__ void copy() const {
    const images::WindowWalk& walk = problem.walk;
    std::uint32_t step = 0;
    for (int tile = blockIdx.x; tile < tiles(); tile += gridDim.x) {
      const images::WalkBase base = walk.base_of(row_of(tile));
      const int column = column_of(tile);
      images::TapStep at;
#pragma unroll 1
      for (int k = 0; k < problem.steps; ++k, ++step) {
        const std::uint32_t stage = step % Tile::kStages, full = shared_address(&shared.full[stage]);
        if (step >= Tile::kStages) barrier_wait(shared_address(&shared.empty[stage]), (step / Tile::kStages - 1) & 1);
        __syncwarp();
        if (threadIdx.x % kWarp == 0) {
          const int channel = at.block * kWindowDepth, tap = at.tap(walk, problem.kernel_w);
          barrier_expect(full, Tile::A::kBytes + Tile::B::kBytes);
          copy_windows(shared_address(shared.a[stage]), maps.a, channel, base, walk.h.taps.offset_of(at.down),
                       walk.w.taps.offset_of(at.across), full);
          const std::uint32_t b = shared_address(shared.b[stage]);
          if constexpr (Tile::kByColumns) {
#pragma unroll
            for (int panel = 0; panel < Tile::kColumns / 64; ++panel)
              copy_head_tile(b + panel * Tile::Columns::kPanelBytes, maps.b, column + panel * 64, tap, channel, full);
          } else {
            copy_head_tile(b, maps.b, channel, tap, column, full);
          }
        }
        at.advance(walk, problem.blocks);
      }
    }
  }

  __device__ __forceinline__ void release(std::uint32_t step) const {
    if (threadIdx.x % kWarp == 0) barrier_arrive(shared_address(&shared.empty[step % Tile::kStages]));
  }

  // The group's turn'th tile; step counts the stages that were filled before it. A group in turns waits for the first
  // of its stages only when the other has seen the last of its own.
  __device__ __forceinline__ void multiply_tile(Sums& c, int group, int turn, std::uint32_t step) const {
    using Products = GroupProducts;
    const int steps = problem.steps;
    if constexpr (Tile::kTurns) barrier_wait(shared_address(&shared.turn[group]), (turn + group + 1) & 1);
    const std::uint32_t first = Tile::kTurns ? 0 : group * Tile::kGroupRows * 128;
#pragma unroll 1
    for (int k = 0; k < steps; ++k, ++step) {
      const std::uint32_t stage = step % Tile::kStages;
      barrier_wait(shared_address(&shared.full[stage]), (step / Tile::kStages) & 1);
      __syncwarp();
      const TileDescriptor a = TileDescriptor::of<typename Tile::A>(shared_address(shared.a[stage]) + first);
      const std::uint32_t b_address = shared_address(shared.b[stage]);
      const TileDescriptor b = Tile::kByColumns ? TileDescriptor::of<typename Tile::Columns>(b_address)
                                                : TileDescriptor::of<typename Tile::B>(b_address);
      Products::begin();
#pragma unroll
      for (int part = 0; part < kWindowDepth / 16; ++part) {
        const std::uint64_t from_b = b.at(Tile::kByColumns ? Products::along_rows(part) : part * 32);
#pragma unroll
        for (int half = 0; half < kHalves; ++half)
          multiply<false, Tile::kByColumns>(c[half], a.at(half * 64 * 128 + part * 32), from_b, k + part > 0);
      }
      Products::commit();
      if (Tile::kTurns && k + 1 == steps && threadIdx.x % kWarp == 0)
        barrier_arrive(shared_address(&shared.turn[1 - group]));
      if (k == 0) continue;
      Products::wait<1>();
      release(step - 1);
    }
    if constexpr (kHalves == 2)
      Products::wait<0>(c[0], c[1]);
    else
      Products::wait<0>(c[0]);
    release(step - 1);
  }

  // Where this lane's row of the four 8 x 8 matrices lies that are columns 16 part .. of its warp's 16 rows of a panel.
  static __device__ __forceinline__ std::uint32_t place_in_panel(int part) {
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp % 4;
    return Panel::offset(warp * 16 + lane % 16, part * 2 + lane / 16);
  }

  // Calls body with the kind as a constant: those that fuses_in_windows() names.
  template <class Body>
  static __device__ __forceinline__ void with_kind(Activation kind, Body&& body) {
    if (kind == Activation::none)
      body.template operator()<Activation::none>();
    else if (kind == Activation::relu)
      body.template operator()<Activation::relu>();
    else if (kind == Activation::silu)
      body.template operator()<Activation::silu>();
    else
      body.template operator()<Activation::leaky_relu>();
  }

  // 64 rows of a strip of 64 columns to shared memory, with bias and activation.
  __device__ __forceinline__ void pack_panel(float (&c)[Tile::kColumns / 8][4], int strip, int column,
                                             std::uint32_t panel) const {
    const WindowResult& result = problem.result;
    with_kind(result.activation, [&]<Activation Kind>() {
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        std::uint32_t packed[4];
#pragma unroll
        for (int block = 0; block < 2; ++block) {
          float(&x)[4] = c[strip * 8 + part * 2 + block];
          if (result.bias) {
            const int at = column + (part * 2 + block) * 8 + threadIdx.x % 4 * 2;
            const float2 shift = __bfloat1622float2(
                *reinterpret_cast<const __nv_bfloat162*>(result.bias + (at < result.columns ? at : 0)));
            x[0] += shift.x, x[1] += shift.y, x[2] += shift.x, x[3] += shift.y;
          }
#pragma unroll
          for (int e = 0; e < 4; ++e) x[e] = activate<Kind>(x[e]);
          packed[block * 2] = pack_bf16(x[0], x[1]), packed[block * 2 + 1] = pack_bf16(x[2], x[3]);
        }
        store_matrices(panel + place_in_panel(part), packed);
      }
    });
  }

  // A panel from shared memory to the places of its rows.
  __device__ __forceinline__ void scatter(const unsigned char* panel, const int* places, int column) const {
    const WindowResult& result = problem.result;
#pragma unroll
    for (int i = 0; i < 64 * 8 / kWindowGroup; ++i) {
      const int at = i * kWindowGroup + threadIdx.x % kWindowGroup, row = at / 8, chunk = at % 8;
      const int place = places[row];
      if (place < 0 || column + chunk * 8 >= result.columns) continue;
      uint4 bits = *reinterpret_cast<const uint4*>(panel + Panel::offset(row, chunk));
      auto* to =
          reinterpret_cast<uint4*>(result.y + static_cast<std::int64_t>(place) * result.columns + column + chunk * 8);
      if (result.accumulate) {
        const uint4 before = *to;
        const auto* x = reinterpret_cast<const __nv_bfloat162*>(&before);
        auto* y = reinterpret_cast<__nv_bfloat162*>(&bits);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float2 u = __bfloat1622float2(x[e]), w = __bfloat1622float2(y[e]);
          y[e] = __floats2bfloat162_rn(u.x + w.x, u.y + w.y);
        }
      }
      *to = bits;
    }
  }

  // Panel by panel through two places in shared memory; count goes on over the group's tiles.
  __device__ __forceinline__ void end_tile(Sums& c, int group, int row, int column, std::uint32_t& count) const {
    const WindowResult& result = problem.result;
    const int thread = threadIdx.x % kWindowGroup;
    bool placed = result.whole;
#pragma unroll
    for (int strip = 0; strip < Tile::kColumns / kPanelColumns; ++strip) {
      const int left = column + strip * kPanelColumns;
      if (left >= result.columns) continue;
#pragma unroll
      for (int half = 0; half < kHalves; ++half, ++count) {
        unsigned char* const panel = shared.panels[group][count % 2];
        // Who read this place two panels ago is done with it: the engine, or the group's threads.
        if (result.whole && thread == 0) wait_for_stores<1>();
        group_barrier(group);
        if (!placed && thread < Tile::kGroupRows)
          shared.places[group][thread] = problem.walk.place_of(row + thread, result.height, result.width);
        placed = true;
        pack_panel(c[half], strip, left, shared_address(panel));
        if (result.whole) GroupProducts::publish();
        group_barrier(group);
        if (!result.whole) {
          scatter(panel, &shared.places[group][half * 64], left);
        } else if (thread == 0) {
          store_tile(maps.c, left, row + half * 64, shared_address(panel));
          commit_stores();
        }
      }
    }
  }

  __device__ __forceinline__ void multiply_tiles(int group) const {
    constexpr int kEach = Tile::kTurns ? 2 : 1;  // of the block's tiles this group has one
    const int mine = Tile::kTurns ? group : 0;
    std::uint32_t count = 0;
    int turn = 0;
    for (int tile = blockIdx.x + mine * gridDim.x; tile < tiles(); tile += kEach * gridDim.x, ++turn) {
      Sums c;
      multiply_tile(c, group, turn, (kEach * turn + mine) * problem.steps);
      end_tile(c, group, row_of(tile) + (Tile::kTurns ? 0 : group * Tile::kGroupRows), column_of(tile), count);
    }
    if (threadIdx.x % kWindowGroup == 0) wait_for_stores<0>();
  }
};

#endif

template <class Tile>
__global__ void __launch_bounds__(kWindowThreads, 1)
    window_rows_kernel(const __grid_constant__ WindowMaps maps, const __grid_constant__ WindowProblem problem) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  // Of the 65,536 registers: the accumulators alone are 128 per thread.
  constexpr int kCopierRegisters = 40, kProductRegisters = 232;
  extern __shared__ __align__(1024) unsigned char memory[];
  typename Tile::Shared& shared = *reinterpret_cast<typename Tile::Shared*>(memory);
  const WindowKernel<Tile> kernel{shared, maps, problem};
  // The same in all lanes, and said so: what follows from it then stays in the registers for addresses of tiles.
  const int group = __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x) / kWindowGroup, 0);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Tile::kStages; ++stage) {
      barrier_init(shared_address(&shared.full[stage]), 1);
      barrier_init(shared_address(&shared.empty[stage]), Tile::kTurns ? 4 : 8);  // the warps that read a stage
    }
    for (int each = 0; each < 2; ++each) barrier_init(shared_address(&shared.turn[each]), 4);
    barriers_are_ready();
  }
  __syncthreads();
  if (group == 2) {
    fewer_registers<kCopierRegisters>();
    if (threadIdx.x < 2 * kWindowGroup + kWarp) kernel.copy();
  } else {
    more_registers<kProductRegisters>();
    kernel.multiply_tiles(group);
  }
#endif
}

}  // namespace attend::cuda
