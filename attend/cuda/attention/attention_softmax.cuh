// The online softmax (Milakov & Gimelshein 2018) on accumulator fragments: a thread holds two rows, `query` and
// `query + 8`, and of each 8 columns two.
#pragma once

#include <cmath>

#include "attend/cuda/attention/attention_mask.cuh"
#include "attend/cuda/warp_products.cuh"

namespace attend::cuda {

// The running maximum and sum of a thread's two rows. Scores and the maximum are in units of 1 / factor: weights are
// 2^(factor · (score - maximum)). The sum is this thread's share of it.
struct RowState {
  float maximum[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0, 0};
};

// Scores outside the mask become -inf.  s [16, 8·N] from key `key` on; limits: the keys each of the two rows sees
template <int N>
__device__ __forceinline__ void mask_scores(float (&s)[N][4], int key, const int (&limits)[2]) {
  const int first = key + 2 * (threadIdx.x & 3);
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      if (first + 8 * j + (e & 1) >= limits[e >> 1]) s[j][e] = -INFINITY;
}

// What a window shows of the keys to a thread's two rows: [0, globals) and [from, end).
struct WindowRows {
  int from[2], end[2], globals;

  // Whether a tile of keys has one that any of the rows must not see, all of them from `first` to `last`.
  int shown_to_all, barred_to_some;
  __device__ __forceinline__ WindowRows(const Window& window, int query, int first, int last)
      : from{window.from(query), window.from(query + 8)},
        end{window.end(query), window.end(query + 8)},
        globals(window.globals),
        shown_to_all(first < window.seeing ? 0 : window.end(first)),
        barred_to_some(window.from(last)) {}
  __device__ __forceinline__ bool cut(int key, int keys) const {
    return key + keys > shown_to_all || (key < barred_to_some && key + keys > globals);
  }
};

template <int N>
__device__ __forceinline__ void mask_scores(float (&s)[N][4], int key, const WindowRows& rows) {
  const int first = key + 2 * (threadIdx.x & 3);
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int at = first + 8 * j + (e & 1);
      if (at >= rows.end[e >> 1] || (at < rows.from[e >> 1] && at >= rows.globals)) s[j][e] = -INFINITY;
    }
}

// So do those of keys that are hidden from the rows.
template <int N>
__device__ __forceinline__ void hide_scores(float (&s)[N][4], const HiddenTile<8 * N>& tile, const HiddenKeys& hidden,
                                            int query, int key) {
  if (tile.none()) return;
  const int first = 2 * (threadIdx.x & 3);
  if (!tile.partly) {
#pragma unroll
    for (int j = 0; j < N; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (tile.bits[j / 4] >> (j % 4 * 8 + e + first) & 1) s[j][e] = s[j][e + 2] = -INFINITY;
    return;
  }
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int from = hidden.at(key + first + 8 * j + e);
      if (query < from) s[j][e] = -INFINITY;
      if (query + 8 < from) s[j][e + 2] = -INFINITY;
    }
}

// scores · scale · log2 e + bias · log2 e, so that the factor becomes 1.
template <int N>
__device__ __forceinline__ void bias_scores(float (&s)[N][4], float factor, const BiasReader& bias, int query, int key,
                                            const int (&limits)[2]) {
  const int first = key + 2 * (threadIdx.x & 3);
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int at = first + 8 * j + (e & 1);
      s[j][e] *= factor;
      if (bias.data && at < limits[e >> 1]) s[j][e] += kLog2E * bias.at(query + 8 * (e >> 1), at);
    }
}

// One tile's step of the online softmax: s becomes weights, and what was summed before must be rescaled.
template <int N>
__device__ __forceinline__ void softmax_step(float (&s)[N][4], RowState& rows, float factor, float (&rescale)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float maximum = rows.maximum[r];
#pragma unroll
    for (int j = 0; j < N; ++j) maximum = fmaxf(maximum, fmaxf(s[j][2 * r], s[j][2 * r + 1]));
    maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, 1));
    maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, 2));
    const float shift = maximum == -INFINITY ? 0.0f : maximum * factor;
    rescale[r] = exp2_fast(rows.maximum[r] * factor - shift);
    rows.maximum[r] = maximum;
    float sum = 0;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      s[j][2 * r] = exp2_fast(fmaf(s[j][2 * r], factor, -shift));
      s[j][2 * r + 1] = exp2_fast(fmaf(s[j][2 * r + 1], factor, -shift));
      sum += s[j][2 * r] + s[j][2 * r + 1];
    }
    rows.sum[r] = rows.sum[r] * rescale[r] + sum;
  }
}

template <int N>
__device__ __forceinline__ void scale_rows(float (&o)[N][4], const float (&factors)[2]) {
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) o[j][e] *= factors[e >> 1];
}

// The sums and log-sum-exps of a thread's two rows when all keys are done: lse is written, factors are what o's rows
// must be multiplied by.
__device__ __forceinline__ void finish_rows(const RowState& rows, float factor, float keep_scale,
                                            const AttentionParams& p, const AttentionSpan& span, int h, int query,
                                            float (&factors)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = rows.sum[r];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    factors[r] = sum > 0 ? keep_scale / sum : 0.0f;
    if ((threadIdx.x & 3) == 0 && query + 8 * r < span.queries)
      p.lse[(span.query_row + query + 8 * r) * p.heads + h] =
          sum > 0 ? (rows.maximum[r] * factor + log2f(sum)) * kLn2 : -INFINITY;
  }
}

template <int N>
__device__ __forceinline__ void drop_weights(float (&s)[N][4], const WeightDropout& dropout, int query, int key) {
  const std::uint32_t keep = dropout.keeps_rows<N>(query, key);
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      if (!(keep >> (4 * j + e) & 1)) s[j][e] = 0;
}

}  // namespace attend::cuda
