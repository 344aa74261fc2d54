// The shapes of the attention backward pass by heads (attention_backward.cu), which tiles of queries see a tile of
// keys, and where sums of several tiles or parts of a head lie.
#pragma once

#include "attend/cuda/attention/attention_backward.cuh"
#include "attend/cuda/group_products.cuh"

// Constants of a configuration that its kernel does not read are no mistake.
#pragma nv_diag_suppress 177

namespace attend::cuda {

template <class Products_, int kWidth_, int kQueries_, int kKeys_, int kChunk_>
struct BackwardConfig {
  using Products = Products_;
  static constexpr int kWidth = kWidth_, kQueries = kQueries_, kKeys = kKeys_;
  static constexpr int kChunk = kChunk_;  // tiles of queries whose dq is in shared memory; 0: in scratch, all
  static constexpr int kWarps = 8, kThreads = 256;
  // On Hopper heads of this width go to warpgroups, and elsewhere there are none: no code for what is never launched.
  [[maybe_unused]] static constexpr bool kWhereLaunched = Products::kGroups ? kHasWgmma : !kHasWgmma || kWidth != 64;
  [[maybe_unused]] static constexpr int kKeyWarps = kKeys / 16;  // 16 keys per warp
  [[maybe_unused]] static constexpr int kColumnWarps =
      kWarps / kKeyWarps;  // which share dk's and dv's columns among them
  [[maybe_unused]] static constexpr int kColumns = kWidth / kColumnWarps;
  static constexpr int kRowWarps = kQueries / 16;  // for dq: 16 queries per warp, and the columns shared
  static constexpr int kQueryColumns = kWidth * kRowWarps / kWarps;
  [[maybe_unused]] static constexpr bool kKeepKeys = kWidth <= 64;  // k and v stay in registers too
  // dk and dv leave through the tiles of scores, while the next keys arrive; else through those of k and v.
  [[maybe_unused]] static constexpr bool kEarlyKeys = kQueries >= kWidth;
  [[maybe_unused]] static constexpr bool kLeavesSums = kChunk > 0;  // of dq, dk and dv
  using KeyTile = SharedTile<kKeys, kWidth>;
  using QueryTile = SharedTile<kQueries, kWidth>;
  using ScoreTile = SharedTile<kKeys, kQueries>;
  static constexpr int kTileFloats = kQueries * kWidth;  // of dq
  static constexpr int kStage = 2 * QueryTile::kBytes;   // q and dy
  static constexpr int kScoresAt = 2 * KeyTile::kBytes + 2 * kStage;
  static constexpr int kSumsAt = kScoresAt + 2 * ScoreTile::kBytes;
  static constexpr int kStatsAt = kSumsAt + kChunk * kTileFloats * 4;
  static constexpr int kSharedBytes = kStatsAt + 4 * kQueries * 4 + 1024;  // + room to align
};

struct BackwardKernelParams {
  AttentionParams p;
  AttentionBackwardParams g;
  const float* stats;  // [2, H, query_rows]
  float* query_sums;   // [parts, B·H, query tiles, kTileFloats]; used when there are parts, or no chunks
  float* key_sums;     // [B·H, key tiles, 2, kKeys · kWidth]; used when there are several chunks
  int parts;
};

// The first tile of queries that sees a key of tile n. A head's first tile of keys is shown to all queries, so that dq
// is written even where nothing is seen.
template <class Config>
__device__ __forceinline__ int first_tile(const AttentionSpan& span, int parts, int n) {
  if (n == 0 && parts == 1) return 0;
  const int start = query_start(span, n * Config::kKeys);
  return start <= 0 ? 0 : start / Config::kQueries;
}

// Under a window: the tiles of queries that see a key of tile n, [begin, end) and [0, marked).
struct QueryTiles {
  int begin = 0, end = 0, marked = 0;

  __device__ __forceinline__ bool none() const { return begin >= end && marked == 0; }
  __device__ __forceinline__ bool has(int m) const { return m < marked || (m >= begin && m < end); }
  // Whether a tile before m is among them, and one from m on.
  __device__ __forceinline__ bool before(int m) const { return (marked > 0 && m > 0) || (begin < end && begin < m); }
  __device__ __forceinline__ bool from(int m) const { return marked > m || (begin < end && end > m); }
};

template <class Config>
__device__ __forceinline__ QueryTiles query_tiles_of(const Window& window, int queries, int n) {
  const int key = n * Config::kKeys, last = min(key + Config::kKeys, window.visible) - 1;
  QueryTiles tiles;
  if (last < key) return tiles;
  const int start = max(window.start(key), 0), stop = key < window.globals ? queries : window.stop(last);
  tiles.begin = min(start, queries) / Config::kQueries;
  tiles.end = ceil_div(min(max(stop, 0), queries), Config::kQueries);
  tiles.marked = ceil_div(min(window.seeing, queries), Config::kQueries);
  return tiles;
}

// Under a window a part is a run of neighbouring tiles of keys, so that few parts share a tile of queries.
template <class Config>
__device__ __forceinline__ int tiles_of_part(const BackwardKernelParams& a) {
  return ceil_div(ceil_div(a.p.keys, Config::kKeys), a.parts);
}

// Whether it leaves sums for tile m of queries: neighbouring tiles of keys are seen by neighbouring tiles of queries.
template <class Config>
__device__ __forceinline__ bool part_has(const BackwardKernelParams& a, const Window& window, int queries, int part,
                                         int m) {
  const int first = part * tiles_of_part<Config>(a);
  const int end = min(first + tiles_of_part<Config>(a), ceil_div(window.visible, Config::kKeys));
  if (first >= end) return false;
  const QueryTiles top = query_tiles_of<Config>(window, queries, first);
  const QueryTiles bottom = query_tiles_of<Config>(window, queries, end - 1);
  return m < top.marked || (m >= top.begin && m < max(top.end, bottom.end));
}

// Where a thread's share of dq of query tile m lies among the sums of its part.
template <class Config>
__device__ __forceinline__ float* query_sums(const BackwardKernelParams& a, int part, int head, int m) {
  const std::int64_t heads = static_cast<std::int64_t>(a.p.batch) * a.p.heads;
  const int tiles = ceil_div(a.p.queries, Config::kQueries);
  return a.query_sums + ((part * heads + head) * tiles + m) * Config::kTileFloats +
         threadIdx.x / 32 * (Config::kQueryColumns / 8) * kFragmentStride + (threadIdx.x & 31) * 4;
}

// The same for dk of key tile n; dv lies kKeys · kWidth floats behind.
template <class Config>
__device__ __forceinline__ float* key_sums(const BackwardKernelParams& a, int head, int n) {
  const std::int64_t tiles = ceil_div(a.p.keys, Config::kKeys);
  return a.key_sums + (head * tiles + n) * (2 * Config::kKeys * Config::kWidth) +
         threadIdx.x / 32 * (Config::kColumns / 8) * kFragmentStride + (threadIdx.x & 31) * 4;
}

template <class Config>
__device__ __forceinline__ void store_queries(const float (&c)[Config::kQueryColumns / 8][4],
                                              const BackwardKernelParams& a, const AttentionSpan& span, int h, int m) {
  const int warp = threadIdx.x / 32;
  const RowWindow window{.data = static_cast<__nv_bfloat16*>(a.g.dq.data) +
                                 (span.query_row + m * Config::kQueries) * a.g.dq.stride + h * a.p.width,
                         .stride = a.g.dq.stride,
                         .rows = span.queries - m * Config::kQueries,
                         .width = a.p.width,
                         .accumulate = a.g.dq.accumulate};
  store_direct(c, a.p.scale, warp % Config::kRowWarps * 16, warp / Config::kRowWarps * Config::kQueryColumns, window);
}

}  // namespace attend::cuda
