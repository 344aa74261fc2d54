// How the norms spread a row over threads: Warps warps hold one row in registers, Packs packs of 16 bytes a lane.
#pragma once

#include "attend/cuda/block.cuh"
#include "attend/cuda/element.cuh"

namespace attend::cuda {

template <class T_, int Warps_, int Packs_>
struct RowLayout {
  using T = T_;
  static constexpr int kWarps = Warps_, kPacks = Packs_;
  static constexpr int kElements = kPack<T>;                 // a pack
  static constexpr int kThreads = 128;                       // a block: four rows of one warp, or one of four
  static constexpr int kRows = kThreads / (Warps_ * kWarp);  // a block
  static constexpr int kLanes = Warps_ * kWarp;              // of a row

  __device__ static int lane() { return threadIdx.x % kLanes; }
  __device__ static int row() { return threadIdx.x / kLanes; }
  // Where pack p of this lane begins.
  __device__ static int column(int p) { return (p * kLanes + lane()) * kElements; }

  // The sum of x over the row, given to all its lanes. shared: 4 floats.
  __device__ static float sum(float x, float* shared) {
    if constexpr (kWarps == 1)
      return warp_sum(x);
    else
      return block_sum<kThreads>(x, shared);
  }
};

// Calls body with the layout that holds rows of `width` elements; false when they are too wide or not whole packs.
template <class T, class Body>
bool with_row_layout(std::int64_t width, Body&& body) {
  if (width % kPack<T> != 0) return false;
  const std::int64_t packs = width / kPack<T>;
  if (packs <= 32) return body(RowLayout<T, 1, 1>{}), true;
  if (packs <= 64) return body(RowLayout<T, 1, 2>{}), true;
  if (packs <= 96) return body(RowLayout<T, 1, 3>{}), true;
  if (packs <= 128) return body(RowLayout<T, 4, 1>{}), true;
  if (packs <= 256) return body(RowLayout<T, 4, 2>{}), true;
  if (packs <= 512) return body(RowLayout<T, 4, 4>{}), true;
  return false;
}

}  // namespace attend::cuda
