// The products of a block in a step of many rows (many_rows_plan.h): activations and weights in swizzled blocks in
// shared memory, sums in registers. Both functions end in put(i, column, a, b) for every pair of columns: the sums of
// row number i of rank lane / 4.
#pragma once

#include "attend/cuda/decode/many_rows_params.h"
#include "attend/cuda/decode/many_rows_plan.h"

namespace attend::cuda {

// By mma.sync, each warp some columns of up to 16 rows.
template <class P, int Tiles, class Machine, class Put>
__device__ __forceinline__ void multiply_by_warps(const void* activations, const void* weights, int warp, int lane,
                                                  Put&& put) {
  using Warps = ManyWarps<P>;
  static_assert(Tiles <= 2);
  constexpr int N = Warps::kColumns;
  if (warp >= Warps::kWarps) return;
  const auto* x = static_cast<const Words*>(activations) + lane_in_block(lane);
  const auto* w = static_cast<const Words*>(weights) + lane_in_block(lane);
  float sums[N][4] = {};
  ATTEND_UNROLLED
  for (int chunk = 0; chunk < P::kChunks; ++chunk) {
    const Words* tile = x + chunk * kManyMostTiles * (kManyBlock / 8);
    const Words low = tile[0], high = Tiles > 1 ? tile[kManyBlock / 8] : Words{};  // eight rows have none behind them
    Words columns[N];
    ATTEND_UNROLLED
    for (int j = 0; j < N; ++j) columns[j] = w[(chunk * P::kTiles + Warps::column_tile(warp, j)) * (kManyBlock / 8)];
    ATTEND_UNROLLED
    for (int j = 0; j < N; ++j) {
      Machine::multiply(sums[j], low.x, high.x, low.y, high.y, columns[j].x, columns[j].y);
      Machine::multiply(sums[j], low.z, high.z, low.w, high.w, columns[j].z, columns[j].w);
    }
  }
  ATTEND_UNROLLED
  for (int j = 0; j < N; ++j) ATTEND_UNROLLED
  for (int i = 0; i < Tiles; ++i)
    put(i, Warps::column_tile(warp, j) * 8 + sum_column(lane, 2 * i), sums[j][2 * i], sums[j][2 * i + 1]);
}

// By wgmma, each four warps all 64 rows and some columns. The tensor cores read shared memory, and weights once.
template <class P, int Tiles, class Machine, class Put>
__device__ __forceinline__ void multiply_by_groups(const void* activations, const void* weights, int warp, int lane,
                                                   Put&& put) {
  using Groups = ManyGroups<P>;
  const int group = warp / 4;
  if (group >= Groups::kGroups) return;
  const auto* x = static_cast<const std::uint8_t*>(activations);
  const auto* w = static_cast<const std::uint8_t*>(weights) + group * (Groups::kColumns / 8) * kManyBlock * 2;
  float sums[Groups::kColumns / 8][4];
  Machine::begin_group();
  ATTEND_UNROLLED
  for (int chunk = 0; chunk < P::kChunks; ++chunk) ATTEND_UNROLLED
  for (int half = 0; half < 2; ++half)
    Machine::multiply_group(sums, x + chunk * kManyMostTiles * kManyBlock * 2, w + chunk * P::kTiles * kManyBlock * 2,
                            half, chunk + half > 0);
  Machine::end_group(sums);
  const int first = warp % 4 * 2;  // of 16 rows, which are number first and first + 1 of each rank
  if (first >= Tiles) return;
  ATTEND_UNROLLED
  for (int j = 0; j < Groups::kColumns / 8; ++j) ATTEND_UNROLLED
  for (int e = 0; e < 4; e += 2)
    put(first + e / 2, group * Groups::kColumns + j * 8 + sum_column(lane, e), sums[j][e], sums[j][e + 1]);
}

}  // namespace attend::cuda
