// Attention backward in plain f32 arithmetic. Three walks over the same tiles: by keys for dk and dv, by queries for
// dq, and for the gradient of the bias over the sequences that share it, in order. Each recomputes the weights.
#include "attend/cuda/attention/attention_exact.cuh"

namespace attend::cuda {
namespace {

template <int kWidth>
struct Layout {
  static constexpr int kSide = kWidth <= 64 ? 64 : 32;  // 142 KB of shared memory at most
  using Tile = ExactTile<kSide, kWidth>;
  using ScoreTile = ExactTile<kSide, kSide>;
  static constexpr int kBytes = (4 * Tile::kFloats + 2 * ScoreTile::kFloats) * 4;
};

// The tiles of q, dy, k, v in shared memory, and how to fill them for a sequence and head.
template <class T, int kWidth>
struct Tiles {
  using Tile = typename Layout<kWidth>::Tile;
  float *q, *dy, *k, *v, *weights, *scores;

  __device__ explicit Tiles(float* shared)
      : q(shared),
        dy(q + Tile::kFloats),
        k(dy + Tile::kFloats),
        v(k + Tile::kFloats),
        weights(v + Tile::kFloats),
        scores(weights + Layout<kWidth>::ScoreTile::kFloats) {}

  __device__ void load_queries(const AttentionParams& p, const void* gradient, const AttentionSpan& span, int h,
                               int t) const {
    const std::int64_t stride = static_cast<std::int64_t>(p.heads) * p.width, row = span.query_row + t;
    load_exact<Tile>(q, static_cast<const T*>(p.q) + row * p.q_stride + h * p.width, p.q_stride, span.queries - t,
                     p.width);
    load_exact<Tile>(dy, static_cast<const T*>(gradient) + row * stride + h * p.width, stride, span.queries - t,
                     p.width);
  }
  __device__ void load_keys(const AttentionParams& p, const AttentionSpan& span, int h, int s) const {
    const std::int64_t row = span.key_row + s;
    load_exact<Tile>(k, static_cast<const T*>(p.k) + row * p.k_stride + h * p.width, p.k_stride, span.visible - s,
                     p.width);
    load_exact<Tile>(v, static_cast<const T*>(p.v) + row * p.v_stride + h * p.width, p.v_stride, span.visible - s,
                     p.width);
  }
  // Both score tiles, [queries, keys].
  template <int kM>
  __device__ void store_scores(const ExactGradients<kM, kM>& tile) const {
    constexpr int kStride = Layout<kWidth>::ScoreTile::kStride;
    const int y = threadIdx.x / 16, x = threadIdx.x % 16;
#pragma unroll
    for (int i = 0; i < kM; ++i)
#pragma unroll
      for (int j = 0; j < kM; ++j) {
        weights[(y + 16 * i) * kStride + x + 16 * j] = tile.weights[i][j];
        scores[(y + 16 * i) * kStride + x + 16 * j] = tile.scores[i][j];
      }
  }
};

template <class T, int kM, int kN>
__device__ void store_gradient(const float (&c)[kM][kN], float factor, const AttentionGradient& to, std::int64_t row,
                               int column, int rows, int width) {
  if (!to.data) return;
  const int y = threadIdx.x / 16, x = threadIdx.x % 16;
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int j = 0; j < kN; ++j) {
      if (y + 16 * i >= rows || x + 16 * j >= width) continue;
      T* at = static_cast<T*>(to.data) + (row + y + 16 * i) * to.stride + column + x + 16 * j;
      *at = from_float<T>(c[i][j] * factor + (to.accumulate ? to_float(*at) : 0.0f));
    }
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kExactThreads)
    exact_backward_keys(const AttentionParams p, const AttentionBackwardParams g, const float* stats) {
  using Tile = typename Layout<kWidth>::Tile;
  using ScoreTile = typename Layout<kWidth>::ScoreTile;
  constexpr int kSide = Layout<kWidth>::kSide, kM = kSide / 16;
  extern __shared__ float shared[];
  const Tiles<T, kWidth> tiles(shared);
  const int blocks = ceil_div(p.keys, kSide), head = blockIdx.x / blocks, b = head / p.heads, h = head % p.heads;
  const int key = blockIdx.x % blocks * kSide;
  const AttentionSpan span = span_of(p, b);
  if (key >= span.keys) return;
  tiles.load_keys(p, span, h, key);
  float dk[kM][kWidth / 16] = {}, dv[kM][kWidth / 16] = {};
  const int start = p.windowed ? 0 : query_start(span, key);
  const Window window = window_of(p, span);
  for (int t = start <= 0 ? 0 : min(start, span.queries) / kSide * kSide; t < span.queries; t += kSide) {
    if (p.windowed && !exact_meets(window, t, key, kSide)) continue;
    __syncthreads();
    tiles.load_queries(p, g.dy, span, h, t);
    __syncthreads();
    ExactGradients<kM, kM> tile;
    exact_gradients<Tile, Tile>(tile, tiles.q, tiles.dy, tiles.k, tiles.v, p, span, stats, b, h, t, key);
    tiles.store_scores(tile);
    __syncthreads();
    exact_combine<ScoreTile, Tile, false>(dv, tiles.weights, tiles.dy);
    exact_combine<ScoreTile, Tile, false>(dk, tiles.scores, tiles.q);
  }
  store_gradient<T>(dk, p.scale, g.dk, span.key_row + key, h * p.width, span.keys - key, p.width);
  store_gradient<T>(dv, 1.0f, g.dv, span.key_row + key, h * p.width, span.keys - key, p.width);
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kExactThreads)
    exact_backward_queries(const AttentionParams p, const AttentionBackwardParams g, const float* stats) {
  using Tile = typename Layout<kWidth>::Tile;
  using ScoreTile = typename Layout<kWidth>::ScoreTile;
  constexpr int kSide = Layout<kWidth>::kSide, kM = kSide / 16;
  extern __shared__ float shared[];
  const Tiles<T, kWidth> tiles(shared);
  const int blocks = ceil_div(p.queries, kSide), head = blockIdx.x / blocks, b = head / p.heads, h = head % p.heads;
  const int t = blockIdx.x % blocks * kSide;
  const AttentionSpan span = span_of(p, b);
  if (t >= span.queries) return;
  const int queries = min(kSide, span.queries - t);
  const int limit = p.windowed ? span.visible : key_limit(span, t + queries - 1);
  const Window window = window_of(p, span);
  tiles.load_queries(p, g.dy, span, h, t);
  float dq[kM][kWidth / 16] = {};
  for (int key = 0; key < limit; key += kSide) {
    if (p.windowed && !exact_meets(window, t, key, kSide)) continue;
    __syncthreads();
    tiles.load_keys(p, span, h, key);
    __syncthreads();
    ExactGradients<kM, kM> tile;
    exact_gradients<Tile, Tile>(tile, tiles.q, tiles.dy, tiles.k, tiles.v, p, span, stats, b, h, t, key);
    tiles.store_scores(tile);
    __syncthreads();
    exact_combine<ScoreTile, Tile, true>(dq, tiles.scores, tiles.k);
  }
  store_gradient<T>(dq, p.scale, g.dq, span.query_row + t, h * p.width, queries, p.width);
}

// Chunk, group and head in blockIdx.x, a tile of [T, S] in y and z.
template <class T, int kWidth>
__global__ void __launch_bounds__(kExactThreads)
    exact_backward_bias(const AttentionParams p, const AttentionBackwardParams g, const float* stats) {
  using Tile = typename Layout<kWidth>::Tile;
  constexpr int kSide = Layout<kWidth>::kSide, kM = kSide / 16;
  extern __shared__ float shared[];
  const Tiles<T, kWidth> tiles(shared);
  const int place = blockIdx.x / p.heads, h = blockIdx.x % p.heads, key = blockIdx.y * kSide, t = blockIdx.z * kSide;
  const int group = place % p.groups, chunk = place / p.groups;
  const int sharing = p.batch / p.groups, each = ceil_div(sharing, g.bias_chunks);
  float sum[kM][kM] = {};
  for (int i = chunk * each; i < min(sharing, (chunk + 1) * each); ++i) {
    const int b = group + i * p.groups;
    const AttentionSpan span = span_of(p, b);
    __syncthreads();
    tiles.load_queries(p, g.dy, span, h, t);
    tiles.load_keys(p, span, h, key);
    __syncthreads();
    ExactGradients<kM, kM> tile;
    exact_gradients<Tile, Tile>(tile, tiles.q, tiles.dy, tiles.k, tiles.v, p, span, stats, b, h, t, key);
#pragma unroll
    for (int i = 0; i < kM; ++i)
#pragma unroll
      for (int j = 0; j < kM; ++j) sum[i][j] += tile.scores[i][j];
  }
  AttentionGradient to = g.dbias;
  to.stride = p.keys;
  const std::int64_t row = (static_cast<std::int64_t>(place) * p.heads + h) * p.queries + t;
  if (g.dbias_bf16)
    store_gradient<bf16>(sum, 1.0f, to, row, key, p.queries - t, p.keys - key);
  else
    store_gradient<float>(sum, 1.0f, to, row, key, p.queries - t, p.keys - key);
}

template <class T>
void launch(const AttentionParams& p, const AttentionBackwardParams& g, const float* stats, cudaStream_t stream) {
  with_exact_width(p.width, [&]<class W>(W) {
    using L = Layout<W::value>;
    const int heads = p.batch * p.heads;
    if (g.dk.data || g.dv.data) {
      const auto kernel = exact_backward_keys<T, W::value>;
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, L::kBytes);
      if (p.keys > 0) kernel<<<ceil_div(p.keys, L::kSide) * heads, kExactThreads, L::kBytes, stream>>>(p, g, stats);
    }
    if (g.dq.data) {
      const auto kernel = exact_backward_queries<T, W::value>;
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, L::kBytes);
      kernel<<<ceil_div(p.queries, L::kSide) * heads, kExactThreads, L::kBytes, stream>>>(p, g, stats);
    }
  });
}

template <class T>
void launch_bias(const AttentionParams& p, const AttentionBackwardParams& g, const float* stats, cudaStream_t stream) {
  with_exact_width(p.width, [&]<class W>(W) {
    using L = Layout<W::value>;
    const auto kernel = exact_backward_bias<T, W::value>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, L::kBytes);
    const dim3 blocks(g.bias_chunks * p.groups * p.heads, ceil_div(p.keys, L::kSide), ceil_div(p.queries, L::kSide));
    kernel<<<blocks, kExactThreads, L::kBytes, stream>>>(p, g, stats);
  });
}

}  // namespace

void launch_attention_backward_exact(const AttentionParams& p, const AttentionBackwardParams& g, cudaStream_t stream) {
  auto* stats = static_cast<float*>(g.scratch);
  launch_attention_statistics(p, g.dy, stats, stream);
  p.bf16 ? launch<bf16>(p, g, stats, stream) : launch<float>(p, g, stats, stream);
  if (g.dbias.data) launch_attention_bias_gradient(p, g, stats, stream);
}

void launch_attention_bias_gradient(const AttentionParams& p, const AttentionBackwardParams& g, const float* stats,
                                    cudaStream_t stream) {
  if (p.keys == 0) return;
  p.bf16 ? launch_bias<bf16>(p, g, stats, stream) : launch_bias<float>(p, g, stats, stream);
}

}  // namespace attend::cuda
