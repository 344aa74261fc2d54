// How the norms spread a row over threads: Warps warps hold one row in registers, Packs packs of 16 bytes per lane.
#pragma once

#include "attend/cuda/element.cuh"
#include "attend/cuda/rows/block.cuh"

namespace attend::cuda {

template <class T_, int Warps_, int Packs_>
struct RowLayout {
  using T = T_;
  static constexpr int kWarps = Warps_, kPacks = Packs_;
  static constexpr int kElements = kPack<T>;         // a pack
  static constexpr int kRows = Warps_ == 1 ? 4 : 1;  // a block
  static constexpr int kThreads = kRows * Warps_ * kWarp;
  static constexpr int kLanes = Warps_ * kWarp;  // of a row

  __device__ static int lane() { return threadIdx.x % kLanes; }
  __device__ static int row() { return threadIdx.x / kLanes; }
  // Where pack p of this lane begins.
  __device__ static int column(int p) { return (p * kLanes + lane()) * kElements; }

  // Both sums over the row, given to all its lanes. Rows of several warps meet in shared memory, in turn in one of two
  // places, so that one barrier per call is enough.
  struct Meeting {
    float2 at[2][kThreads / kWarp];
  };
  __device__ static float2 sums(float2 x, Meeting& meeting, int turn) {
    x = {warp_sum(x.x), warp_sum(x.y)};
    if constexpr (kWarps > 1) {
      float2* at = meeting.at[turn % 2];
      if (threadIdx.x % kWarp == 0) at[threadIdx.x / kWarp] = x;
      __syncthreads();
      x = at[0];
#pragma unroll
      for (int warp = 1; warp < kWarps; ++warp) x.x += at[warp].x, x.y += at[warp].y;
    }
    return x;
  }
};

// Calls body with a layout that holds rows of `width` elements; false when they are too wide or not whole packs.
// Few warps per row: nothing to wait for, good where a row is all that has to be kept (forward).
template <class T, class Body>
bool with_narrow_layout(std::int64_t width, Body&& body) {
  if (width % kPack<T> != 0) return false;
  const std::int64_t packs = width / kPack<T>;
  if (packs <= 32) return body(RowLayout<T, 1, 1>{}), true;
  if (packs <= 64) return body(RowLayout<T, 1, 2>{}), true;
  if (packs <= 96) return body(RowLayout<T, 1, 3>{}), true;
  if (packs <= 128) return body(RowLayout<T, 1, 4>{}), true;
  if (packs <= 256) return body(RowLayout<T, 4, 2>{}), true;
  if (packs <= 512) return body(RowLayout<T, 4, 4>{}), true;
  return false;
}

// One pack a lane: few registers, so that column sums fit beside it and many rows are in flight (backward).
template <class T, class Body>
bool with_wide_layout(std::int64_t width, Body&& body) {
  if (width % kPack<T> != 0) return false;
  const std::int64_t packs = width / kPack<T>;
  if (packs <= 32) return body(RowLayout<T, 1, 1>{}), true;
  if (packs <= 64) return body(RowLayout<T, 2, 1>{}), true;
  if (packs <= 96) return body(RowLayout<T, 3, 1>{}), true;
  if (packs <= 128) return body(RowLayout<T, 4, 1>{}), true;
  if (packs <= 192) return body(RowLayout<T, 6, 1>{}), true;
  if (packs <= 256) return body(RowLayout<T, 8, 1>{}), true;
  if (packs <= 512) return body(RowLayout<T, 16, 1>{}), true;
  return false;
}

}  // namespace attend::cuda
