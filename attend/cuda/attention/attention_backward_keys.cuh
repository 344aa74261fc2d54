// The shapes of the backward pass by tiles of keys (attention_backward_keys.cu), and which tiles of queries a tile of
// keys is multiplied with, in which order.
#pragma once

#include <cuda.h>

#include "attend/cuda/attention/attention_pipeline.cuh"

namespace attend::cuda {

template <int kWidth_, int kQueries_>
struct KeyBlockConfig {
  static constexpr int kWidth = kWidth_, kQueries = kQueries_, kKeys = 128;
  static constexpr int kThreads = 3 * 128;  // one warpgroup copies, two multiply 64 keys each
  using KeyTile = SharedTile<kKeys, kWidth>;
  using QueryTile = SharedTile<kQueries, kWidth>;
  using ScoreTile = SharedTile<kKeys, kQueries>;
  static constexpr int kTileFloats = kQueries * kWidth;  // of dq
  static constexpr bool kSharesRows = kQueries == 128;   // the groups' share of dq: 64 queries, else 64 columns
  static constexpr int kValuesAt = KeyTile::kBytes, kQueriesAt = 2 * KeyTile::kBytes;
  static constexpr int kStageBytes = 2 * QueryTile::kBytes;  // q and dy, twice
  static constexpr int kScoresAt = kQueriesAt + 2 * kStageBytes;
  static constexpr int kSumsAt = kScoresAt + 2 * ScoreTile::kBytes;
  static constexpr int kStatsAt = kSumsAt + kTileFloats * 4;
  static constexpr int kBarriersAt = kStatsAt + 2 * 2 * kQueries * 4;
  static constexpr int kSharedBytes = kBarriersAt + 64 + 1024;  // + room to align
  static_assert(kTileFloats == 64 * 128);
};

struct KeyBlockParams {
  CUtensorMap q, k, v, dy;
  AttentionParams p;
  AttentionBackwardParams g;
  const float* stats;  // [2, H, query_rows]
  float* sums;         // [B·H, query tiles, kTileFloats]: dq so far
  int* ticket;         // the next block's number
  int* turns;          // [B·H, query tiles]: how many tiles of keys are in those sums
};

// The tiles of queries that see a tile of keys. KeyTiles alone decides who is seen, so that every tile of queries gets
// as many shares of dq as it waits for.
template <class Config>
struct QueryWalk {
  Window window;
  int queries, n, begin = 0, end = 0;  // none outside [begin, end) sees tile n

  __device__ __forceinline__ QueryWalk(const Window& shown, int count, int tile)
      : window(shown), queries(count), n(tile) {
    const int key = n * Config::kKeys;
    if (key >= window.visible || queries <= 0) return;
    const int start = window.seeing > 0 ? 0 : min(max(window.start(key), 0), queries);
    const int stop = key < window.globals ? queries : key + Config::kKeys - window.place + window.before;
    begin = start / Config::kQueries;
    end = ceil_div(min(max(stop, min(window.seeing, queries)), queries), Config::kQueries);
  }

  __device__ __forceinline__ KeyTiles<Config::kKeys> keys_of(int m) const {
    const int first = m * Config::kQueries;
    return KeyTiles<Config::kKeys>(window, first, min(first + Config::kQueries, queries) - 1);
  }
  __device__ __forceinline__ bool seen_by(int m) const {
    const KeyTiles<Config::kKeys> tiles = keys_of(m);
    return n < tiles.marked || (n >= tiles.low && n < tiles.low + tiles.count - tiles.marked);
  }
  // The first tile from m on.
  __device__ __forceinline__ int next(int m) const {
    while (m < end && !seen_by(m)) ++m;
    return m;
  }
  __device__ __forceinline__ int first() const { return next(begin); }

  // Shares of dq are added from the last tile of keys to the first: in a causal head all its blocks then move along
  // together, each one step behind the one before it.
  struct Turn {
    int mine, count;
    __device__ __forceinline__ bool last() const { return mine == count - 1; }
  };
  __device__ __forceinline__ Turn turn(int m) const {
    const KeyTiles<Config::kKeys> tiles = keys_of(m);
    return {tiles.count - 1 - tiles.number(n), tiles.count};
  }
};

// What every thread of a block knows.
template <class Config>
struct KeyBlock {
  int head, h, n;
  AttentionSpan span;
  QueryWalk<Config> walk;

  __device__ __forceinline__ KeyBlock(const KeyBlockParams& a, int number, int tiles)
      : head(number / tiles),
        h(head % a.p.heads),
        n(tiles - 1 - number % tiles),
        span(seen_of(a.p, head / a.p.heads)),
        walk(window_of(a.p, span), span.queries, n) {}
  // Keys beyond the maximum that the caller named are nobody's: no block may wait for their shares.
  static __device__ __forceinline__ AttentionSpan seen_of(const AttentionParams& p, int b) {
    AttentionSpan span = span_of(p, b);
    span.visible = min(span.visible, p.keys);
    return span;
  }

  // Of the sums of query tile m.
  __device__ __forceinline__ std::int64_t place(const KeyBlockParams& a, int m) const {
    return static_cast<std::int64_t>(head) * ceil_div(a.p.queries, Config::kQueries) + m;
  }
};

}  // namespace attend::cuda
