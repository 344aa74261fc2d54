// The products of a block in a step of dealt rows (dealt_rows_plan.h): activations and weights in swizzled blocks in
// shared memory, sums in registers. Both functions end in put(i, column, a, b) for every pair of columns: the sums of
// row number i of rank lane / 4.
#pragma once

#include "attend/cuda/decode/dealt_rows_params.h"
#include "attend/cuda/decode/dealt_rows_plan.h"

namespace attend::cuda {

// By mma.sync, each warp some tiles. Takes from shared memory what every warp needs by itself.
template <class P, int Tiles, class Machine, class Put>
__device__ __forceinline__ void multiply_by_warps(const void* activations, const void* weights, int warp, int lane,
                                                  Put&& put) {
  using Grid = DealtWarps<P, Tiles>;
  constexpr int M = Grid::kRows, N = Grid::kColumns;
  if (warp >= Grid::kWarps) return;
  const auto* x = static_cast<const Words*>(activations) + lane_in_block(lane);
  const auto* w = static_cast<const Words*>(weights) + lane_in_block(lane);
  float sums[M][N][4] = {};
  ATTEND_UNROLLED
  for (int chunk = 0; chunk < P::kChunks; ++chunk) {
    Words low[M], high[M], columns[N];
    ATTEND_UNROLLED
    for (int i = 0; i < M; ++i) {
      const Words* tile = x + (chunk * kDealtMostTiles + Grid::row_tile(warp, i) * 2) * (kDealtBlock / 8);
      low[i] = tile[0];
      if constexpr (Tiles > 1) high[i] = tile[kDealtBlock / 8];
    }
    ATTEND_UNROLLED
    for (int j = 0; j < N; ++j) columns[j] = w[(chunk * P::kTiles + Grid::column_tile(warp, j)) * (kDealtBlock / 8)];
    ATTEND_UNROLLED
    for (int i = 0; i < M; ++i) ATTEND_UNROLLED
    for (int j = 0; j < N; ++j) {
      const Words behind = Tiles > 1 ? high[i] : Words{};  // eight rows have none
      const Words &a = low[i], &b = columns[j];
      Machine::multiply(sums[i][j], a.x, behind.x, a.y, behind.y, b.x, b.y);
      Machine::multiply(sums[i][j], a.z, behind.z, a.w, behind.w, b.z, b.w);
    }
  }
  ATTEND_UNROLLED
  for (int i = 0; i < M; ++i) ATTEND_UNROLLED
  for (int j = 0; j < N; ++j) ATTEND_UNROLLED
  for (int e = 0; e < (Tiles > 1 ? 4 : 2); e += 2)
    put(Grid::row_tile(warp, i) * 2 + e / 2, Grid::column_tile(warp, j) * 8 + sum_column(lane, e), sums[i][j][e],
        sums[i][j][e + 1]);
}

// By wgmma, each four warps all 64 rows and some columns. The tensor cores read shared memory, and weights once.
template <class P, int Tiles, class Machine, class Put>
__device__ __forceinline__ void multiply_by_groups(const void* activations, const void* weights, int warp, int lane,
                                                   Put&& put) {
  using Groups = DealtGroups<P>;
  const int group = warp / 4;
  if (group >= Groups::kGroups) return;
  const auto* x = static_cast<const std::uint8_t*>(activations);
  const auto* w = static_cast<const std::uint8_t*>(weights) + group * (Groups::kColumns / 8) * kDealtBlock * 2;
  float sums[Groups::kColumns / 8][4];
  Machine::begin_group();
  ATTEND_UNROLLED
  for (int chunk = 0; chunk < P::kChunks; ++chunk) ATTEND_UNROLLED
  for (int half = 0; half < 2; ++half)
    Machine::multiply_group(sums, x + chunk * kDealtMostTiles * kDealtBlock * 2,
                            w + chunk * P::kTiles * kDealtBlock * 2, half, chunk + half > 0);
  Machine::end_group(sums);
  const int first = warp % 4 * 2;  // of 16 rows, which are number first and first + 1 of each rank
  if (first >= Tiles) return;
  ATTEND_UNROLLED
  for (int j = 0; j < Groups::kColumns / 8; ++j) ATTEND_UNROLLED
  for (int e = 0; e < 4; e += 2)
    put(first + e / 2, group * Groups::kColumns + j * 8 + sum_column(lane, e), sums[j][e], sums[j][e + 1]);
}

}  // namespace attend::cuda
