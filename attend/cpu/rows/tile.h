// Small matrix products on tiles that lie in the first caches, for attention. c [m, n] (+)= a b with a broadcast one
// number at a time and b, c in vectors; n is a multiple of kLanes. Row tiles are as tall as the registers allow:
// 4 x 4 vectors with 32 registers (16 sums hide the latency of two FMA ports), 6 x 2 with 16.
#pragma once

#include "attend/cpu/rows/vec.h"

namespace attend::cpu::ATTEND_ROWS {

#if defined(__AVX512F__)
constexpr int kTileVectors = 4;
constexpr int tile_rows(int vectors) { return vectors <= 2 ? 8 : 6; }
#elif defined(__aarch64__)
constexpr int kTileVectors = 4;
constexpr int tile_rows(int vectors) { return vectors <= 2 ? 8 : 6; }
#elif defined(__AVX2__)
constexpr int kTileVectors = 2;
constexpr int tile_rows(int) { return 6; }
#else
constexpr int kTileVectors = 2;
constexpr int tile_rows(int) { return 4; }
#endif

// a(i, k) = a[i · row + k · column], so that a transposed tile is read where it lies.
struct Left {
  const float* a;
  std::int64_t row, column;
};
template <class E>
struct Right {
  const E* b;  // [depth, n]
  std::int64_t stride;
};
struct Result {
  float* c;
  std::int64_t stride;
  bool accumulate;
};

template <int kRows, int kVectors, class E>
ATTEND_INLINE void tile(Left left, Right<E> right, std::int64_t depth, Result result) {
  Vec sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v)
      sum[r][v] = result.accumulate ? load(result.c + r * result.stride + v * kLanes) : Vec{};
  const float* a = left.a;
  const E* b = right.b;
  for (std::int64_t k = 0; k < depth; ++k, a += left.column, b += right.stride) {
    Vec row[kVectors];
    for (int v = 0; v < kVectors; ++v) row[v] = load(b + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const Vec x = splat(a[r * left.row]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] += x * row[v];
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) store(result.c + r * result.stride + v * kLanes, sum[r][v]);
}

// The rows that are left over, fewer than a whole tile.
template <int kRows, int kVectors, class E>
ATTEND_INLINE void short_tile(std::int64_t rows, Left left, Right<E> right, std::int64_t depth, Result result) {
  if constexpr (kRows > 0) {
    if (rows == kRows)
      tile<kRows, kVectors>(left, right, depth, result);
    else
      short_tile<kRows - 1, kVectors>(rows, left, right, depth, result);
  }
}

template <int kVectors, class E>
__attribute__((noinline)) static void panel(std::int64_t m, Left left, Right<E> right, std::int64_t depth,
                                            Result result) {
  constexpr int kRows = tile_rows(kVectors);
  std::int64_t i = 0;
  for (; i + kRows <= m; i += kRows) {
    tile<kRows, kVectors>(left, right, depth, result);
    left.a += kRows * left.row;
    result.c += kRows * result.stride;
  }
  short_tile<kRows - 1, kVectors>(m - i, left, right, depth, result);
}

template <class E>
ATTEND_INLINE void product(std::int64_t m, std::int64_t n, std::int64_t depth, Left left, Right<E> right,
                           Result result) {
  for (; n >= kTileVectors * kLanes; n -= kTileVectors * kLanes) {
    panel<kTileVectors>(m, left, right, depth, result);
    right.b += kTileVectors * kLanes;
    result.c += kTileVectors * kLanes;
  }
  if constexpr (kTileVectors > 2) {
    if (n == 3 * kLanes) return panel<3>(m, left, right, depth, result);
    if (n == 2 * kLanes) return panel<2>(m, left, right, depth, result);
  }
  if (n == kLanes) panel<1>(m, left, right, depth, result);
}

}  // namespace attend::cpu::ATTEND_ROWS
