// What the forward kernels by warps (attention_forward.cu) and by warpgroups (attention_forward_groups.cu) share: their
// shapes, which queries a block owns, and the launch.
#pragma once

#include "attend/cuda/attention/attention_softmax.cuh"

namespace attend::cuda {

template <int kWidth_, int kWarps_, int kKeys_, int kBlocks_>
struct ForwardConfig {
  static constexpr int kWidth = kWidth_;                           // D, padded
  static constexpr int kWarps = kWarps_, kThreads = 32 * kWarps_;  // one warp for 16 queries
  static constexpr int kQueries = 16 * kWarps, kKeys = kKeys_;
  static constexpr int kBlocks = kBlocks_;  // of this kernel on a multiprocessor, for the register limit
  using QueryTile = SharedTile<kQueries, kWidth>;
  using KeyTile = SharedTile<kKeys, kWidth>;
  static constexpr int kSharedBytes = QueryTile::kBytes + 4 * KeyTile::kBytes;
};

// Queries [first, first + queries) of head h of sequence b, and the tiles of keys that the last of them sees, or that
// any of them does under a window. The last queries, which see most, begin first.
template <class Config>
struct ForwardBlock {
  int b, h, first, queries, tiles;  // queries <= 0: this sequence is shorter, and there is nothing to do
  AttentionSpan span;
  const __nv_bfloat16 *q, *k, *v;

  __device__ __forceinline__ explicit ForwardBlock(const AttentionParams& p)
      : ForwardBlock(p, blockIdx.x / blocks_of(p), blocks_of(p) - 1 - static_cast<int>(blockIdx.x) % blocks_of(p)) {}
  static __device__ __forceinline__ int blocks_of(const AttentionParams& p) {
    return ceil_div(p.queries, Config::kQueries);
  }
  // The index'th block of a head.
  __device__ __forceinline__ ForwardBlock(const AttentionParams& p, int head, int index) {
    b = head / p.heads, h = head % p.heads;
    first = index * Config::kQueries;
    span = span_of(p, b);
    queries = min(Config::kQueries, span.queries - first);
    const int seen = key_limit(span, first + queries - 1);
    tiles = seen > 0 ? ceil_div(seen, Config::kKeys) : 0;
    q = static_cast<const __nv_bfloat16*>(p.q) + span.query_row * p.q_stride + h * p.width;
    k = static_cast<const __nv_bfloat16*>(p.k) + span.key_row * p.k_stride + h * p.width;
    v = static_cast<const __nv_bfloat16*>(p.v) + span.key_row * p.v_stride + h * p.width;
  }

  // Where its rows of y go.
  __device__ __forceinline__ RowWindow window(const AttentionParams& p) const {
    const std::int64_t stride = static_cast<std::int64_t>(p.heads) * p.width;
    return {.data = static_cast<__nv_bfloat16*>(p.y) + (span.query_row + first) * stride + h * p.width,
            .stride = stride,
            .rows = queries,
            .width = p.width};
  }
};

template <class Config>
void launch_forward(void (*kernel)(AttentionParams), const AttentionParams& p, cudaStream_t stream) {
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Config::kSharedBytes);
  const int blocks = ceil_div(p.queries, Config::kQueries) * p.heads * p.batch;
  kernel<<<blocks, Config::kThreads, Config::kSharedBytes, stream>>>(p);
}

}  // namespace attend::cuda
