// Attention in double precision, one thread per query or key: what bench/cuda_attention.cu holds the kernels against.
#pragma once

#include <cuda_bf16.h>

#include <cmath>
#include <cstdint>

#include "attend/base/random.h"
#include "attend/cuda/attention/attention.cuh"

namespace attend::bench {

using cuda::AttentionParams;

// One sequence, as the reference sees it.
struct Sequence {
  int query_row, key_row, queries, keys, visible;
};

struct Problem {
  AttentionParams p;
  const Sequence* sequences;
};

inline __device__ double read(const void* data, bool bf16, std::int64_t i) {
  return bf16 ? __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]) : static_cast<const float*>(data)[i];
}

// Score of (b, h, t, s) in double, or -inf.
inline __device__ double score(const Problem& x, int b, int h, int t, int s) {
  const AttentionParams& p = x.p;
  const Sequence& sequence = x.sequences[b];
  if (s >= sequence.visible) return -INFINITY;
  if (p.causal && s > t + sequence.keys - sequence.queries) return -INFINITY;
  const WindowView<int> window(p.causal, p.window, sequence.keys, sequence.queries, sequence.visible);
  if (p.windowed && !window.sees(t, s)) return -INFINITY;
  if (p.seen_from && t < p.seen_from[sequence.key_row + s]) return -INFINITY;
  double sum = 0;
  for (int d = 0; d < p.width; ++d)
    sum += read(p.q, p.bf16, (sequence.query_row + t) * p.q_stride + h * p.width + d) *
           read(p.k, p.bf16, (sequence.key_row + s) * p.k_stride + h * p.width + d);
  sum *= p.scale;
  if (p.bias)
    sum += read(p.bias, p.bias_bf16,
                ((static_cast<std::int64_t>(b % p.groups) * p.heads + h) * p.queries + t) * p.keys + s);
  return sum;
}

inline __device__ double kept(const AttentionParams& p, int b, int h, int t, int s) {
  if (p.dropout_rate <= 0) return 1;
  const std::uint64_t i = ((static_cast<std::uint64_t>(b) * p.heads + h) * p.queries + t) * ((p.keys + 7) / 8 * 8) + s;
  const std::uint64_t seed = p.seed[0] | static_cast<std::uint64_t>(p.seed[1]) << 32;
  const bool keep = dropout_draw(seed, p.stream, i) >= dropout_threshold(p.dropout_rate);
  return keep ? dropout_scale(p.dropout_rate) : 0;
}

// One thread per query: y, lse and, given dy, the row sums of dy ∘ y.
static __global__ void reference_forward(Problem x, const void* dy, double* y, double* lse, double* delta) {
  const AttentionParams& p = x.p;
  const int b = blockIdx.y, h = blockIdx.z, t = blockIdx.x * blockDim.x + threadIdx.x;
  const Sequence& sequence = x.sequences[b];
  if (t >= sequence.queries) return;
  const std::int64_t row = (sequence.query_row + t) * static_cast<std::int64_t>(p.heads) + h;
  double maximum = -INFINITY, sum = 0;
  for (int s = 0; s < sequence.visible; ++s) maximum = fmax(maximum, score(x, b, h, t, s));
  for (int d = 0; d < p.width; ++d) y[row * p.width + d] = 0;
  if (maximum > -INFINITY)
    for (int s = 0; s < sequence.visible; ++s) sum += exp(score(x, b, h, t, s) - maximum);
  lse[row] = sum > 0 ? maximum + log(sum) : -INFINITY;
  delta[row] = 0;
  if (sum == 0) return;
  for (int s = 0; s < sequence.visible; ++s) {
    const double weight = exp(score(x, b, h, t, s) - lse[row]) * kept(p, b, h, t, s);
    for (int d = 0; d < p.width; ++d)
      y[row * p.width + d] += weight * read(p.v, p.bf16, (sequence.key_row + s) * p.v_stride + h * p.width + d);
  }
  for (int d = 0; d < p.width; ++d) delta[row] += y[row * p.width + d] * read(dy, p.bf16, row * p.width + d);
}

// Weight of (t, s) and the gradient of its score.
inline __device__ void gradient(const Problem& x, const void* dy, const double* lse, const double* delta, int b, int h,
                                int t, int s, double& weight, double& dscore) {
  const AttentionParams& p = x.p;
  const Sequence& sequence = x.sequences[b];
  const std::int64_t row = (sequence.query_row + t) * static_cast<std::int64_t>(p.heads) + h;
  const double plain = lse[row] > -INFINITY ? exp(score(x, b, h, t, s) - lse[row]) : 0;
  double dweight = 0;
  for (int d = 0; d < p.width; ++d)
    dweight +=
        read(dy, p.bf16, row * p.width + d) * read(p.v, p.bf16, (sequence.key_row + s) * p.v_stride + h * p.width + d);
  const double keep = kept(p, b, h, t, s);
  weight = plain * keep;
  dscore = plain * (dweight * keep - delta[row]);
}

// One thread per query (dq) and one per key (dk, dv): x covers both. Layout [rows, H·D].
static __global__ void reference_backward(Problem x, const void* dy, const double* lse, const double* delta, double* dq,
                                          double* dk, double* dv) {
  const AttentionParams& p = x.p;
  const int b = blockIdx.y, h = blockIdx.z, i = blockIdx.x * blockDim.x + threadIdx.x;
  const Sequence& sequence = x.sequences[b];
  const std::int64_t columns = static_cast<std::int64_t>(p.heads) * p.width;
  double weight, dscore;
  if (i < sequence.queries)
    for (int s = 0; s < sequence.visible; ++s) {
      gradient(x, dy, lse, delta, b, h, i, s, weight, dscore);
      for (int d = 0; d < p.width; ++d)
        dq[(sequence.query_row + i) * columns + h * p.width + d] +=
            p.scale * dscore * read(p.k, p.bf16, (sequence.key_row + s) * p.k_stride + h * p.width + d);
    }
  if (i < sequence.visible)
    for (int t = 0; t < sequence.queries; ++t) {
      gradient(x, dy, lse, delta, b, h, t, i, weight, dscore);
      const std::int64_t row = (sequence.query_row + t);
      for (int d = 0; d < p.width; ++d) {
        const std::int64_t to = (sequence.key_row + i) * columns + h * p.width + d;
        dk[to] += p.scale * dscore * read(p.q, p.bf16, row * p.q_stride + h * p.width + d);
        dv[to] += weight * read(dy, p.bf16, row * columns + h * p.width + d);
      }
    }
}

static __global__ void reference_bias(Problem x, const void* dy, const double* lse, const double* delta,
                                      double* dbias) {
  const AttentionParams& p = x.p;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= static_cast<std::int64_t>(p.groups) * p.heads * p.queries * p.keys) return;
  const int s = i % p.keys, t = i / p.keys % p.queries, h = i / p.keys / p.queries % p.heads;
  double sum = 0, weight, dscore;
  for (int b = static_cast<int>(i / p.keys / p.queries / p.heads); b < p.batch; b += p.groups) {
    if (s >= x.sequences[b].visible) continue;
    gradient(x, dy, lse, delta, b, h, t, s, weight, dscore);
    sum += dscore;
  }
  dbias[i] += sum;
}

static __global__ void reference_weights(Problem x, const double* lse, double* weights) {
  const AttentionParams& p = x.p;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= static_cast<std::int64_t>(p.batch) * p.heads * p.queries * p.keys) return;
  const int s = i % p.keys, t = i / p.keys % p.queries, h = i / p.keys / p.queries % p.heads;
  const int b = i / p.keys / p.queries / p.heads;
  weights[i] = 0;
  if (t >= x.sequences[b].queries) return;
  const double l = lse[(x.sequences[b].query_row + t) * static_cast<std::int64_t>(p.heads) + h];
  if (l > -INFINITY) weights[i] = exp(score(x, b, h, t, s) - l);
}

}  // namespace attend::bench
