// Attention by tiles in plain f32 arithmetic: no tensor cores, no tf32. For f32 tensors, for bf16 whose rows do not lie
// on 16 bytes, and for what is rarely asked for: the gradient of the bias, the weights themselves.
// A block is 16 x 16 threads; thread (y, x) owns rows y + 16i and columns x + 16j of every tile.
#pragma once

#include "attend/cuda/attention/attention_mask.cuh"
#include "attend/cuda/element.cuh"

namespace attend::cuda {

inline constexpr int kExactThreads = 256;

// Rows of f32 in shared memory, four floats apart from a multiple of 32 banks.
template <int kRows_, int kColumns_>
struct ExactTile {
  static constexpr int kRows = kRows_, kColumns = kColumns_, kStride = kColumns_ + 4;
  static constexpr int kFloats = kRows * kStride;
};

// Rows [0, valid) of `from`; zeros below and right of width.
template <class Tile, class T>
__device__ __forceinline__ void load_exact(float* tile, const T* from, std::int64_t stride, int valid, int width) {
  for (int i = threadIdx.x; i < Tile::kRows * Tile::kColumns; i += kExactThreads) {
    const int row = i / Tile::kColumns, column = i % Tile::kColumns;
    tile[row * Tile::kStride + column] = row < valid && column < width ? to_float(from[row * stride + column]) : 0.0f;
  }
}

// c[i][j] = row y + 16i of a · row x + 16j of b.
template <class TileA, class TileB>
__device__ __forceinline__ void exact_products(float (&c)[TileA::kRows / 16][TileB::kRows / 16], const float* a,
                                               const float* b) {
  constexpr int kM = TileA::kRows / 16, kN = TileB::kRows / 16;
  const int y = threadIdx.x / 16, x = threadIdx.x % 16;
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int j = 0; j < kN; ++j) c[i][j] = 0;
#pragma unroll 4
  for (int d = 0; d < TileA::kColumns; d += 4) {
    float4 u[kM], w[kN];
#pragma unroll
    for (int i = 0; i < kM; ++i) u[i] = *reinterpret_cast<const float4*>(a + (y + 16 * i) * TileA::kStride + d);
#pragma unroll
    for (int j = 0; j < kN; ++j) w[j] = *reinterpret_cast<const float4*>(b + (x + 16 * j) * TileB::kStride + d);
#pragma unroll
    for (int i = 0; i < kM; ++i)
#pragma unroll
      for (int j = 0; j < kN; ++j) {
        c[i][j] = fmaf(u[i].x, w[j].x, c[i][j]);
        c[i][j] = fmaf(u[i].y, w[j].y, c[i][j]);
        c[i][j] = fmaf(u[i].z, w[j].z, c[i][j]);
        c[i][j] = fmaf(u[i].w, w[j].w, c[i][j]);
      }
  }
}

// c[i][j] += Σ_r weights(r, y + 16i) · b[r][x + 16j]; kByRows: weights are stored [y.., r], else [r, y..].
template <class TileW, class TileB, bool kByRows, int kM, int kN>
__device__ __forceinline__ void exact_combine(float (&c)[kM][kN], const float* weights, const float* b) {
  const int y = threadIdx.x / 16, x = threadIdx.x % 16;
#pragma unroll 4
  for (int r = 0; r < TileB::kRows; ++r) {
    float u[kM], w[kN];
#pragma unroll
    for (int i = 0; i < kM; ++i)
      u[i] = kByRows ? weights[(y + 16 * i) * TileW::kStride + r] : weights[r * TileW::kStride + y + 16 * i];
#pragma unroll
    for (int j = 0; j < kN; ++j) w[j] = b[r * TileB::kStride + x + 16 * j];
#pragma unroll
    for (int i = 0; i < kM; ++i)
#pragma unroll
      for (int j = 0; j < kN; ++j) c[i][j] = fmaf(u[i], w[j], c[i][j]);
  }
}

// Score of (t, s) in base 2 from its product; -inf when t may not see s.
__device__ __forceinline__ float exact_score(float product, const AttentionParams& p, const BiasReader& bias,
                                             const AttentionSpan& span, int t, int s) {
  if (t >= span.queries || !sees(p, span, t, s)) return -INFINITY;
  return product * (p.scale * kLog2E) + (bias.data ? kLog2E * bias.at(t, s) : 0.0f);
}

// Whether any of the queries [t, t + side) sees any of the keys [s, s + side) under a window.
__device__ __forceinline__ bool exact_meets(const Window& window, int t, int s, int side) {
  const int last = min(s + side, window.visible) - 1;
  if (last < s) return false;
  const int stop = s < window.globals ? Window::kNever : window.stop(last);
  return t < window.seeing || (t + side > window.start(s) && t < stop);
}

// The weights of a tile after dropout, and the gradients of its scores.
template <int kM, int kN>
struct ExactGradients {
  float weights[kM][kN], scores[kM][kN];
};

// From q and dy (rows t..) and k and v (rows s..) in shared memory.
template <class QueryTile, class KeyTile>
__device__ __forceinline__ void exact_gradients(ExactGradients<QueryTile::kRows / 16, KeyTile::kRows / 16>& out,
                                                const float* q, const float* dy, const float* k, const float* v,
                                                const AttentionParams& p, const AttentionSpan& span, const float* stats,
                                                int b, int h, int t, int s) {
  const int y = threadIdx.x / 16, x = threadIdx.x % 16;
  const BiasReader bias(p, b, h);
  const WeightDropout dropout(p, b, h);
  exact_products<QueryTile, KeyTile>(out.weights, q, k);
  exact_products<QueryTile, KeyTile>(out.scores, dy, v);
#pragma unroll
  for (int i = 0; i < QueryTile::kRows / 16; ++i) {
    const int query = t + y + 16 * i;
    const std::int64_t row = h * p.query_rows + span.query_row + query;
    const bool in = query < span.queries;
    const float lse = in ? stats[row] : INFINITY, delta = in ? stats[p.heads * p.query_rows + row] : 0.0f;
#pragma unroll
    for (int j = 0; j < KeyTile::kRows / 16; ++j) {
      const int key = s + x + 16 * j;
      const float score = exact_score(out.weights[i][j], p, bias, span, query, key);
      const float weight = score == -INFINITY ? 0.0f : exp2f(score - lse);
      const float kept = !dropout.on ? 1.0f : dropout.keeps(query, key) ? dropout.scale : 0.0f;
      out.weights[i][j] = weight * kept;
      out.scores[i][j] = weight * (out.scores[i][j] * kept - delta);
    }
  }
}

// body(width) with the padded head width as a constant.
template <int N>
struct Width {
  static constexpr int value = N;
};
template <class Body>
void with_exact_width(int width, Body&& body) {
  if (width <= 32)
    body(Width<32>{});
  else if (width <= 64)
    body(Width<64>{});
  else if (width <= 128)
    body(Width<128>{});
  else
    body(Width<256>{});
}

}  // namespace attend::cuda
