// Attention forward in plain f32 arithmetic, with the online softmax, and the explicit weights for those who want to
// look at them.
#include "attend/cuda/attention/attention_exact.cuh"

namespace attend::cuda {
namespace {

template <int kWidth>
struct Layout {
  static constexpr int kSide = kWidth <= 128 ? 64 : 32;
  using Tile = ExactTile<kSide, kWidth>;
  using ScoreTile = ExactTile<kSide, kSide>;
  static constexpr int kBytes = (3 * Tile::kFloats + ScoreTile::kFloats) * 4;
};

template <class T, int kWidth>
__global__ void __launch_bounds__(kExactThreads) attention_exact(const AttentionParams p) {
  using Tile = typename Layout<kWidth>::Tile;
  using ScoreTile = typename Layout<kWidth>::ScoreTile;
  constexpr int kSide = Layout<kWidth>::kSide, kM = kSide / 16, kColumns = kWidth / 16;
  extern __shared__ float shared[];
  float *q = shared, *k = q + Tile::kFloats, *v = k + Tile::kFloats, *weights = v + Tile::kFloats;

  const int blocks = ceil_div(p.queries, kSide), head = blockIdx.x / blocks, b = head / p.heads, h = head % p.heads;
  const int first = blockIdx.x % blocks * kSide, y = threadIdx.x / 16, x = threadIdx.x % 16;
  const AttentionSpan span = span_of(p, b);
  if (first >= span.queries) return;
  const int queries = min(kSide, span.queries - first);
  const int limit = p.windowed ? span.visible : key_limit(span, first + queries - 1);
  const Window window = window_of(p, span);
  const BiasReader bias(p, b, h);
  const WeightDropout dropout(p, b, h);
  load_exact<Tile>(q, static_cast<const T*>(p.q) + (span.query_row + first) * p.q_stride + h * p.width, p.q_stride,
                   queries, p.width);

  float o[kM][kColumns] = {}, maximum[kM], sum[kM];
#pragma unroll
  for (int i = 0; i < kM; ++i) maximum[i] = -INFINITY, sum[i] = 0;
  for (int key = 0; key < limit; key += kSide) {
    if (p.windowed && !exact_meets(window, first, key, kSide)) continue;
    __syncthreads();
    const std::int64_t row = span.key_row + key;
    load_exact<Tile>(k, static_cast<const T*>(p.k) + row * p.k_stride + h * p.width, p.k_stride, span.visible - key,
                     p.width);
    load_exact<Tile>(v, static_cast<const T*>(p.v) + row * p.v_stride + h * p.width, p.v_stride, span.visible - key,
                     p.width);
    __syncthreads();
    float s[kM][kM];
    exact_products<Tile, Tile>(s, q, k);
#pragma unroll
    for (int i = 0; i < kM; ++i) {
      const int t = first + y + 16 * i;
      float top = maximum[i];
#pragma unroll
      for (int j = 0; j < kM; ++j) {
        s[i][j] = exact_score(s[i][j], p, bias, span, t, key + x + 16 * j);
        top = fmaxf(top, s[i][j]);
      }
#pragma unroll
      for (int step = 8; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));
      const float shift = top == -INFINITY ? 0.0f : top, rescale = exp2f(maximum[i] - shift);
      maximum[i] = top;
      sum[i] *= rescale;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) o[i][c] *= rescale;
#pragma unroll
      for (int j = 0; j < kM; ++j) {
        const float weight = exp2f(s[i][j] - shift);
        sum[i] += weight;
        const bool dropped = dropout.on && !dropout.keeps(t, key + x + 16 * j);
        weights[(y + 16 * i) * ScoreTile::kStride + x + 16 * j] = dropped ? 0.0f : weight;
      }
    }
    __syncthreads();
    exact_combine<ScoreTile, Tile, true>(o, weights, v);
  }
#pragma unroll
  for (int i = 0; i < kM; ++i) {
    const int t = y + 16 * i;
#pragma unroll
    for (int step = 8; step > 0; step /= 2) sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], step);
    if (t >= queries) continue;
    const std::int64_t at = (span.query_row + first + t) * p.heads + h;
    if (x == 0) p.lse[at] = sum[i] > 0 ? (maximum[i] + log2f(sum[i])) * kLn2 : -INFINITY;
    const float factor = sum[i] > 0 ? dropout.scale / sum[i] : 0.0f;
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
      if (x + 16 * c < p.width) static_cast<T*>(p.y)[at * p.width + x + 16 * c] = from_float<T>(o[i][c] * factor);
  }
}

// One thread per weight: for looking at, not for speed.
template <class T>
__global__ void attention_weights(const AttentionParams p, float* weights) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t rows = static_cast<std::int64_t>(p.batch) * p.heads * p.queries;
  if (i >= rows * p.keys) return;
  const int s = static_cast<int>(i % p.keys), t = static_cast<int>(i / p.keys % p.queries);
  const int head = static_cast<int>(i / p.keys / p.queries), b = head / p.heads, h = head % p.heads;
  const AttentionSpan span = span_of(p, b);
  float weight = 0;
  if (t < span.queries && sees(p, span, t, s)) {
    const std::int64_t row = span.query_row + t;
    const T* q = static_cast<const T*>(p.q) + row * p.q_stride + h * p.width;
    const T* k = static_cast<const T*>(p.k) + (span.key_row + s) * p.k_stride + h * p.width;
    float product = 0;
    for (int d = 0; d < p.width; ++d) product = fmaf(to_float(q[d]), to_float(k[d]), product);
    const float lse = p.lse[row * p.heads + h] * kLog2E;
    if (lse != -INFINITY) weight = exp2f(exact_score(product, p, BiasReader(p, b, h), span, t, s) - lse);
  }
  weights[i] = weight;
}

template <class T>
void launch(const AttentionParams& p, cudaStream_t stream) {
  with_exact_width(p.width, [&]<class W>(W) {
    using L = Layout<W::value>;
    const auto kernel = attention_exact<T, W::value>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, L::kBytes);
    kernel<<<ceil_div(p.queries, L::kSide) * p.batch * p.heads, kExactThreads, L::kBytes, stream>>>(p);
  });
}

}  // namespace

void launch_attention_forward_exact(const AttentionParams& p, cudaStream_t stream) {
  p.bf16 ? launch<bf16>(p, stream) : launch<float>(p, stream);
}

void launch_attention_weights(const AttentionParams& p, float* weights, cudaStream_t stream) {
  const std::int64_t count = static_cast<std::int64_t>(p.batch) * p.heads * p.queries * p.keys;
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>((count + 255) / 256);
  if (p.bf16)
    attention_weights<bf16><<<blocks, 256, 0, stream>>>(p, weights);
  else
    attention_weights<float><<<blocks, 256, 0, stream>>>(p, weights);
}

}  // namespace attend::cuda
