// Attention of a few queries over many keys, as in decoding: nothing to multiply by tiles, so the keys are read once
// with all threads of a block, D/8 lanes per key and four keys in flight each, and the partial softmaxes are joined at
// the end. One block for each query of a head: 512 threads hold 256 keys of width 64 at a time. Where there are few
// heads and many keys, the blocks of a cluster (Hopper) share them, and the first joins what all have found. Where
// there are more heads than the GPU holds such blocks, blocks of 128 threads have less to join.
#include "attend/cuda/attention/attention_mask.cuh"
#include "attend/cuda/bulk_copy.cuh"
#include "attend/cuda/capability.h"
#include "attend/cuda/early_launch.cuh"
#include "attend/cuda/element.cuh"
#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/block.cuh"

namespace attend::cuda {
namespace {

constexpr int kBlock = 512, kSmallBlock = 128;
constexpr int kAtOnce = 4;  // keys in flight a lane group

template <class T>
__device__ __forceinline__ void load_eight(const T* from, float (&x)[8]) {
  if constexpr (sizeof(T) == 2) {
    load<8>(from, x);
  } else {
    float low[4], high[4];
    load<4>(from, low);
    load<4>(from + 4, high);
#pragma unroll
    for (int e = 0; e < 4; ++e) x[e] = low[e], x[e + 4] = high[e];
  }
}

// A softmax under way: o is this lane's 8 columns of Σ 2^(score - maximum) v.
struct Partial {
  float maximum = -INFINITY, sum = 0;
  float o[8] = {};
};

__device__ __forceinline__ void rescale(Partial& x, float maximum) {
  if (maximum <= x.maximum) return;
  const float factor = exp2f(x.maximum - maximum);
  x.maximum = maximum;
  x.sum *= factor;
#pragma unroll
  for (int e = 0; e < 8; ++e) x.o[e] *= factor;
}

// Joins what lane groups `step` lanes apart have found.
__device__ __forceinline__ void join(Partial& x, int step) {
  const float maximum = fmaxf(x.maximum, __shfl_xor_sync(0xffffffffu, x.maximum, step));
  if (maximum != -INFINITY) rescale(x, maximum);
  x.sum += __shfl_xor_sync(0xffffffffu, x.sum, step);
#pragma unroll
  for (int e = 0; e < 8; ++e) x.o[e] += __shfl_xor_sync(0xffffffffu, x.o[e], step);
}

// What a block has found over its keys.
template <int kColumns>
struct Found {
  float maximum, sum, o[kColumns];
};

// Joins the softmaxes of a cluster's blocks, in order, in the first of them: thread i has column i of its own, and
// every thread the maximum and sum.
template <int kColumns>
__device__ __forceinline__ void join_blocks([[maybe_unused]] Found<kColumns>& found, [[maybe_unused]] int blocks,
                                            [[maybe_unused]] float& maximum, [[maybe_unused]] float& sum,
                                            [[maybe_unused]] float& o) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  const int column = threadIdx.x;
  if (column < kColumns) found.o[column] = o;
  if (column == 0) found.maximum = maximum, found.sum = sum;
  cluster_barrier();
  if (block_of_cluster() == 0) {
    for (int i = 1; i < blocks; ++i) {
      const float other = shared_of(&found.maximum, i), top = fmaxf(maximum, other);
      if (top == -INFINITY) continue;
      const float mine = exp2f(maximum - top), theirs = exp2f(other - top);
      sum = sum * mine + shared_of(&found.sum, i) * theirs;
      if (column < kColumns) o = o * mine + shared_of(&found.o[column], i) * theirs;
      maximum = top;
    }
  }
  cluster_barrier();  // nobody leaves before it has been read
#endif
}

template <class T, int kLanes, int kThreads>
__global__ void __launch_bounds__(kThreads) attention_decode(const AttentionParams p) {
  constexpr int kGroups = kThreads / kLanes, kWarps = kThreads / kWarp;
  __shared__ float maxima[kWarps], sums[kWarps];
  __shared__ float columns[kWarps][kLanes * 8 + 1];
  __shared__ Found<kLanes * 8> found;
  wait_for_kernel_before();
  let_next_kernel_start();
  const int pieces = blocks_in_cluster(), piece = static_cast<int>(blockIdx.x) % pieces;
  const int job = static_cast<int>(blockIdx.x) / pieces;
  const int t = job % p.queries, head = job / p.queries, b = head / p.heads, h = head % p.heads;
  const AttentionSpan span = span_of(p, b);
  if (t >= span.queries) return;
  const int group = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const bool inside = lane * 8 < p.width;
  const int column = h * p.width + (inside ? lane * 8 : 0);
  // Under a window: the globals that lie in front of the band, then the band.
  const Window window = window_of(p, span);
  const int from = p.windowed ? window.from(t) : 0, end = p.windowed ? window.end(t) : max(0, key_limit(span, t));
  const int marked = p.windowed ? min(min(window.globals, from), end) : 0, limit = marked + max(0, end - from);
  // This block's keys.
  const int share = ceil_div(ceil_div(limit, pieces), kGroups) * kGroups;
  const int begin = min(piece * share, limit), stop = min(begin + share, limit);
  const auto place = [&](int i) { return i < marked ? i : i - marked + from; };
  const auto* k = static_cast<const T*>(p.k) + column;
  const auto* v = static_cast<const T*>(p.v) + column;
  const std::int32_t* rows = p.rows_of_keys ? p.rows_of_keys + static_cast<std::int64_t>(b) * p.keys : nullptr;
  const BiasReader bias(p, b, h);
  const std::int64_t row = span.query_row + t;

  float q[8];
  load_eight(static_cast<const T*>(p.q) + row * p.q_stride + column, q);
#pragma unroll
  for (int e = 0; e < 8; ++e) q[e] *= inside ? p.scale * kLog2E : 0.0f;

  Partial mine;
  for (int first = begin; first < stop; first += kGroups * kAtOnce) {  // the same number of steps for every lane
    float values[kAtOnce][8], scores[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int at = place(min(first + i * kGroups + group, stop - 1));
      const std::int64_t key = (rows ? static_cast<std::int64_t>(rows[at]) * p.keys : span.key_row) + at;
      float keys[8];
      load_eight(k + key * p.k_stride, keys);
      load_eight(v + key * p.v_stride, values[i]);
      scores[i] = 0;
#pragma unroll
      for (int e = 0; e < 8; ++e) scores[i] = fmaf(q[e], keys[e], scores[i]);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int s = first + i * kGroups + group;
#pragma unroll
      for (int step = kLanes / 2; step > 0; step /= 2) scores[i] += __shfl_xor_sync(0xffffffffu, scores[i], step);
      if (s >= stop)
        scores[i] = -INFINITY;
      else if (p.bias)
        scores[i] += kLog2E * bias.at(t, place(s));
    }
    float maximum = mine.maximum;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) maximum = fmaxf(maximum, scores[i]);
    if (maximum == -INFINITY) continue;
    rescale(mine, maximum);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float weight = exp2f(scores[i] - maximum);
      mine.sum += weight;
#pragma unroll
      for (int e = 0; e < 8; ++e) mine.o[e] = fmaf(weight, values[i][e], mine.o[e]);
    }
  }

  // First the groups of a warp, then the warps.
#pragma unroll
  for (int step = kLanes; step < kWarp; step *= 2) join(mine, step);
  const int warp = threadIdx.x / kWarp;
  const bool speaks = threadIdx.x % kWarp < kLanes;
  if (speaks && lane == 0) maxima[warp] = mine.maximum;
  __syncthreads();
  float maximum = -INFINITY;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) maximum = fmaxf(maximum, maxima[w]);
  if (maximum != -INFINITY) rescale(mine, maximum);
  if (speaks && lane == 0) sums[warp] = mine.sum;
  if (speaks)
#pragma unroll
    for (int e = 0; e < 8; ++e) columns[warp][lane * 8 + e] = mine.o[e];
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) sum += sums[w];
  const int thread = threadIdx.x;
  float o = 0;
  if (thread < kLanes * 8)
#pragma unroll
    for (int w = 0; w < kWarps; ++w) o += columns[w][thread];
  if (pieces > 1) {
    join_blocks(found, pieces, maximum, sum, o);
    if (piece > 0) return;
  }
  if (thread == 0) p.lse[row * p.heads + h] = sum > 0 ? (maximum + log2f(sum)) * kLn2 : -INFINITY;
  if (thread < p.width)
    static_cast<T*>(p.y)[(row * p.heads + h) * p.width + thread] = from_float<T>(sum > 0 ? o / sum : 0.0f);
}

// How many blocks share a query's keys: as long as there is room for them, and keys.
int pieces_for(const AttentionParams& p, int blocks) {
  constexpr int kRoom = 132, kFew = 256, kMost = 8;
  int pieces = 1;
  while (pieces < kMost && blocks * pieces * 2 <= kRoom && p.keys > kFew * pieces) pieces *= 2;
  return has_wgmma() ? pieces : 1;
}

template <class T, int kThreads>
auto kernel_for(int width) {
  if (width <= 32) return attention_decode<T, 4, kThreads>;
  return width <= 64 ? attention_decode<T, 8, kThreads> : attention_decode<T, 16, kThreads>;
}

template <class T>
void launch(const AttentionParams& p, cudaStream_t stream) {
  constexpr int kMany = 4 * 132;  // blocks of 512 threads that a GPU holds at once
  const int blocks = p.queries * p.batch * p.heads, pieces = pieces_for(p, blocks);
  const bool small = blocks > kMany && p.width <= kSmallBlock;
  const auto kernel = small            ? kernel_for<T, kSmallBlock>(p.width)
                      : p.width <= 128 ? kernel_for<T, kBlock>(p.width)
                                       : attention_decode<T, 32, kBlock>;
  launch_early(true, kernel, static_cast<unsigned>(blocks * pieces), small ? kSmallBlock : kBlock, stream, p, pieces);
}

}  // namespace

void launch_attention_forward_decode(const AttentionParams& p, cudaStream_t stream) {
  p.bf16 ? launch<bf16>(p, stream) : launch<float>(p, stream);
}

}  // namespace attend::cuda
