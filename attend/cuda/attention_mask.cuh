// Which keys a query sees, and what is added to or dropped from its scores: shared by all attention kernels.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "attend/base/random.h"
#include "attend/cuda/attention.cuh"

namespace attend::cuda {

inline constexpr float kLog2E = 1.4426950408889634f;
inline constexpr float kLn2 = 0.6931471805599453f;

__host__ __device__ constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

// Sequence b: its rows in q and k, and how many keys may be seen at all.
struct AttentionSpan {
  std::int64_t query_row, key_row;
  int queries, keys;  // counts, as causal alignment sees them
  int visible;        // keys before key_lengths
  int shift;          // causal: query t sees keys s <= t + shift
};

__device__ __forceinline__ AttentionSpan span_of(const AttentionParams& p, int b) {
  AttentionSpan span;
  if (p.query_offsets) {
    const std::int32_t* key_offsets = p.key_offsets ? p.key_offsets : p.query_offsets;
    span.query_row = p.query_offsets[b];
    span.queries = p.query_offsets[b + 1] - p.query_offsets[b];
    span.key_row = key_offsets[b];
    span.keys = p.key_lengths ? p.key_lengths[b] : key_offsets[b + 1] - key_offsets[b];
    span.visible = span.keys;
  } else {
    span.query_row = static_cast<std::int64_t>(b) * p.queries;
    span.key_row = static_cast<std::int64_t>(b) * p.keys;
    span.queries = p.queries;
    span.keys = p.keys;
    span.visible = p.key_lengths ? max(0, min(p.keys, p.key_lengths[b])) : p.keys;
  }
  span.shift = p.causal ? span.keys - span.queries : 0x3fffffff - p.queries;
  return span;
}

// Keys [0, key_limit) are what query t sees.
__device__ __forceinline__ int key_limit(const AttentionSpan& span, int t) {
  return min(span.visible, t + span.shift + 1);
}

// The first query that sees key s (past all queries when none does).
__device__ __forceinline__ int query_start(const AttentionSpan& span, int s) {
  return s < span.visible ? s - span.shift : 0x7fffffff;
}

// Bias of (t, s) for sequence b, head h; the caller keeps t and s inside.
struct BiasReader {
  const void* data;
  bool bf16;
  std::int64_t base;
  int keys;

  __device__ BiasReader(const AttentionParams& p, int b, int h)
      : data(p.bias),
        bf16(p.bias_bf16),
        base((static_cast<std::int64_t>(p.bias ? b % p.groups : 0) * p.heads + h) * p.queries * p.keys),
        keys(p.keys) {}
  __device__ float at(int t, int s) const {
    const std::int64_t i = base + static_cast<std::int64_t>(t) * keys + s;
    return bf16 ? __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]) : static_cast<const float*>(data)[i];
  }
};

// Dropout of the weights of sequence b, head h.
struct WeightDropout {
  bool on;
  std::uint32_t threshold, stream;
  std::uint64_t seed, base;
  int keys;
  float scale;  // of what is kept

  __device__ WeightDropout(const AttentionParams& p, int b, int h)
      : on(p.dropout_rate > 0),
        threshold(dropout_threshold(p.dropout_rate)),
        stream(p.stream),
        seed(on ? p.seed[0] | static_cast<std::uint64_t>(p.seed[1]) << 32 : 0),
        base((static_cast<std::uint64_t>(b) * p.heads + h) * static_cast<std::uint64_t>(p.queries) * p.keys),
        keys(p.keys),
        scale(!on                      ? 1.0f
              : p.dropout_rate >= 1.0f ? 0.0f
                                       : 1.0f / (1.0f - p.dropout_rate)) {}

  __device__ std::uint64_t index(int t, int s) const { return base + static_cast<std::uint64_t>(t) * keys + s; }
  __device__ bool keeps(int t, int s) const { return random_word(seed, stream, index(t, s)) >= threshold; }

  // Keys s, s + 1 (s even) of query t in bits 0 and 1, and of query t + 8 in bits 2 and 3, for the fragments of a
  // tile of scores: lanes 2i and 2i + 1 hold four neighbouring keys, one Philox block when S is a multiple of 4, so
  // each draws one row's block and they swap halves: 1 draw a lane instead of 2 (4 when S is odd).
  __device__ std::uint32_t keeps_rows(int t, int s) const {
    if (keys % 4 != 0) {
      return (keeps(t, s) ? 1u : 0u) | (keeps(t, s + 1) ? 2u : 0u) | (keeps(t + 8, s) ? 4u : 0u) |
             (keeps(t + 8, s + 1) ? 8u : 0u);
    }
    const bool odd = threadIdx.x & 1;
    const Random4 r = philox(seed, stream, index(odd ? t + 8 : t, s) >> 2);
    std::uint32_t bits = 0;  // of the row this lane drew: bit i = word i is kept
    for (int i = 0; i < 4; ++i) bits |= (r.word[i] >= threshold ? 1u : 0u) << i;
    const std::uint32_t other = __shfl_xor_sync(0xffffffffu, bits, 1);
    return odd ? (other >> 2) | (bits & 0xcu) : (bits & 3u) | ((other & 3u) << 2);
  }

  // The same for transposed scores: key s of queries t, t + 1 in bits 0 and 1, key s + 8 in bits 2 and 3. Here the
  // four lanes 4 apart hold the neighbouring keys: each draws one of the four blocks.
  __device__ std::uint32_t keeps_columns(int t, int s) const {
    if (keys % 4 != 0) {
      return (keeps(t, s) ? 1u : 0u) | (keeps(t + 1, s) ? 2u : 0u) | (keeps(t, s + 8) ? 4u : 0u) |
             (keeps(t + 1, s + 8) ? 8u : 0u);
    }
    const int lane = threadIdx.x & 31, which = (lane >> 2) & 3;
    const Random4 r = philox(seed, stream, index(t + (which & 1), (s & ~3) + (which & 2 ? 8 : 0)) >> 2);
    std::uint32_t bits = 0;
    for (int i = 0; i < 4; ++i) bits |= (r.word[i] >= threshold ? 1u : 0u) << i;
    std::uint32_t mine = 0;
    for (int block = 0; block < 4; ++block) {
      const std::uint32_t drawn = __shfl_sync(0xffffffffu, bits, (lane & ~12) | (block << 2));
      mine |= ((drawn >> which) & 1u) << block;
    }
    return mine;
  }
};

}  // namespace attend::cuda
