// Which keys a query sees, and what is added to or dropped from its scores: shared by all attention kernels.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "attend/base/random.h"
#include "attend/cuda/attention/attention.cuh"

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

// The same under a window.
using Window = WindowView<int>;
__device__ __forceinline__ Window window_of(const AttentionParams& p, const AttentionSpan& span) {
  return Window(p.causal, p.window, span.keys, span.queries, span.visible);
}

__device__ __forceinline__ bool sees(const AttentionParams& p, const AttentionSpan& span, int t, int s) {
  if (!(p.windowed ? window_of(p, span).sees(t, s) : s < key_limit(span, t))) return false;
  return !p.seen_from || t >= p.seen_from[span.key_row + s];
}

// seen_from of a sequence's keys: key s is hidden from the queries before at(s). Without the list, and of keys that
// nobody sees anyway, nothing is.
class HiddenKeys {
 public:
  __device__ __forceinline__ HiddenKeys(const AttentionParams& p, const AttentionSpan& span)
      : from_(p.seen_from ? p.seen_from + span.key_row : nullptr), keys_(span.visible) {}
  __device__ __forceinline__ int at(int key) const { return from_ && key < keys_ ? from_[key] : 0; }
  __device__ __forceinline__ bool any() const { return from_; }

 private:
  const std::int32_t* from_;
  int keys_;
};

// Which of a tile of keys are hidden from a warp's 16 queries, `top` and those behind it: a bit for each that all of
// them must not see, and whether some must not see one that others do. Most tiles have neither.
template <int kKeys>
struct HiddenTile {
  std::uint32_t bits[kKeys / 32];
  bool partly = false;

  __device__ __forceinline__ HiddenTile(const HiddenKeys& hidden, int key, int top) {
#pragma unroll
    for (int i = 0; i < kKeys / 32; ++i) {
      const int from = hidden.at(key + 32 * i + static_cast<int>(threadIdx.x & 31));
      bits[i] = __ballot_sync(0xffffffffu, from > top + 15);
      partly |= from > top && from <= top + 15;
    }
    partly = __any_sync(0xffffffffu, partly);
  }
  __device__ __forceinline__ bool none() const {
    std::uint32_t any = partly;
#pragma unroll
    for (const std::uint32_t word : bits) any |= word;
    return any == 0;
  }
};

// The tiles of so many keys that a block of queries walks, numbered without those that the window bars: the globals'
// first, then the band's.
template <int kKeys>
struct KeyTiles {
  int marked, low, count;

  // Of queries [first, last].
  __device__ __forceinline__ KeyTiles(const Window& window, int first, int last) {
    const int end = ceil_div(window.end(first < window.seeing ? first : last), kKeys);
    low = min(window.from(first) / kKeys, end);
    marked = min(ceil_div(min(window.globals, window.visible), kKeys), low);
    count = marked + end - low;
  }
  __device__ __forceinline__ int tile(int i) const { return i < marked ? i : i - marked + low; }
  // The last number that is no later than this tile.
  __device__ __forceinline__ int number(int tile) const {
    return tile >= low ? tile - low + marked : min(tile, marked - 1);
  }
};

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

// One step of turning a matrix of bits whose rows lie in lanes: units of kShift bits, swapped with the lane kLanes
// further. kLow is the units that stay where they are in the lower lane.
template <std::uint32_t kLow, int kShift, int kLanes>
__device__ __forceinline__ std::uint32_t swap_units(std::uint32_t mine) {
  const std::uint32_t other = __shfl_xor_sync(0xffffffffu, mine, kLanes);
  return threadIdx.x & kLanes ? (mine & ~kLow) | (other >> kShift & kLow) : (mine & kLow) | (other & kLow) << kShift;
}

// Dropout of the weights of sequence b, head h. A row of keys begins a block of draws, whatever their number.
struct WeightDropout {
  bool on;
  std::uint32_t threshold, stream;
  std::uint64_t seed, base;
  int stride;
  float scale;  // of what is kept

  __device__ WeightDropout(const AttentionParams& p, int b, int h)
      : on(p.dropout_rate > 0),
        threshold(dropout_threshold(p.dropout_rate)),
        stream(p.stream),
        seed(on ? p.seed[0] | static_cast<std::uint64_t>(p.seed[1]) << 32 : 0),
        base((static_cast<std::uint64_t>(b) * p.heads + h) * static_cast<std::uint64_t>(p.queries)),
        stride(ceil_div(p.keys, kDropoutBlock) * kDropoutBlock),
        scale(on ? dropout_scale(p.dropout_rate) : 1.0f) {
    base *= stride;
  }

  __device__ std::uint64_t index(int t, int s) const { return base + static_cast<std::uint64_t>(t) * stride + s; }
  __device__ bool keeps(int t, int s) const { return dropout_draw(seed, stream, index(t, s)) >= threshold; }

  // Bit i: query t keeps key s + i, s a multiple of 8.
  __device__ __forceinline__ std::uint32_t keeps_block(int t, int s) const {
    const Random4 random = dropout_block(seed, stream, index(t, s) / kDropoutBlock);
    std::uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if ((random.word[i] & 0xffffu) >= threshold) bits |= 1u << (2 * i);
      if (random.word[i] >> 16 >= threshold) bits |= 2u << (2 * i);
    }
    return bits;
  }

  // Which of a thread's fragment of a tile of scores are kept, bit 4j + e for c[j][e]: rows t (e 0, 1) and t + 8, and
  // of keys s + 8j + 0..7 the two of this lane. The four lanes that share the rows hold one block of draws in each row
  // and j. Each draws one of the four blocks of two j, and they swap: N / 2 draws per lane.
  template <int N>
  __device__ __forceinline__ std::uint32_t keeps_rows(int t, int s) const {
    static_assert(N % 2 == 0 && N <= 8);
    const int lane = threadIdx.x & 3;
    std::uint32_t bits = 0;  // byte i: row t + 8 · (lane % 2), j = 2i + lane / 2
#pragma unroll
    for (int i = 0; i < N / 2; ++i) bits |= keeps_block(t + 8 * (lane & 1), s + 16 * i + 8 * (lane >> 1)) << (8 * i);
    bits = swap_units<0x33333333u, 2, 1>(bits);
    return swap_units<0x0f0f0f0fu, 4, 2>(bits);
  }

  // The same for transposed scores: keys s (e 0, 1) and s + 8, and of queries t + 8j + 0..7 the two of this lane. Here
  // the eight lanes 4 apart hold the keys of a block, and need the same eight blocks of two j.
  template <int N>
  __device__ __forceinline__ std::uint32_t keeps_columns(int t, int s) const {
    static_assert(N % 2 == 0 && N <= 8);
    const int lane = threadIdx.x & 31, which = lane >> 2;
    const int query = t + 2 * (lane & 3) + (which & 1) + 8 * (which >> 2), key = (s & ~7) + 8 * (which >> 1 & 1);
    std::uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < N / 2; ++i) bits |= keeps_block(query + 16 * i, key) << (8 * i);
    bits = swap_units<0x55555555u, 1, 4>(bits);
    bits = swap_units<0x33333333u, 2, 8>(bits);
    return swap_units<0x0f0f0f0fu, 4, 16>(bits);
  }
};

}  // namespace attend::cuda
