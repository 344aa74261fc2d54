// Additive attention scores (Bahdanau et al. 2015, appendix A.1.2): scores[b, t, s] = v · tanh(q[b, t] + k[b, s]).
// tanh is computed again in the backward pass: keeping it would take B·T·S·C numbers.
#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/block.cuh"
#include "attend/cuda/rows/column_sums.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 128;

struct Extents {
  std::int64_t batch, queries, keys;  // B, T, S
  int width;                          // C
};

Extents extents_of(const Tensor& q, const Tensor& k) {
  return {q.dim(0), q.dim(1), k.dim(1), static_cast<int>(q.width())};
}

// A warp for each score.
template <class T>
__global__ void scores_kernel(const T* q, const T* k, const T* v, T* scores, Extents extents) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads / kWarp) + threadIdx.x / kWarp;
  if (i >= extents.batch * extents.queries * extents.keys) return;
  const std::int64_t row = i / extents.keys, s = i - row * extents.keys, b = row / extents.queries;
  q += row * extents.width;
  k += (b * extents.keys + s) * extents.width;
  float sum = 0;
  for (int c = threadIdx.x % kWarp; c < extents.width; c += kWarp)
    sum += to_float(v[c]) * tanhf(to_float(q[c]) + to_float(k[c]));
  sum = warp_sum(sum);
  if (threadIdx.x % kWarp == 0) scores[i] = from_float<T>(sum);
}

// A thread for each (b, t, c): walks s. partial [B·T, C] is what row (b, t) adds to the gradient of v.
template <class T>
__global__ void queries_backward_kernel(const T* dscores, const T* q, const T* k, const T* v, T* dq, bool accumulate,
                                        float* partial, Extents extents) {
  const std::int64_t row = blockIdx.x, b = row / extents.queries;
  const int c = blockIdx.y * kThreads + threadIdx.x;
  if (c >= extents.width) return;
  const float query = to_float(q[row * extents.width + c]), weight = to_float(v[c]);
  const T* key = k + b * extents.keys * extents.width + c;
  float sum = 0, dv = 0;
  for (std::int64_t s = 0; s < extents.keys; ++s) {
    const float d = to_float(dscores[row * extents.keys + s]);
    const float t = tanhf(query + to_float(key[s * extents.width]));
    sum += d * (1 - t * t);
    dv += d * t;
  }
  sum *= weight;
  T* to = dq + row * extents.width + c;
  if (dq) *to = from_float<T>(accumulate ? to_float(*to) + sum : sum);
  if (partial) partial[row * extents.width + c] = dv;
}

// A thread for each (b, s, c): walks t.
template <class T>
__global__ void keys_backward_kernel(const T* dscores, const T* q, const T* k, const T* v, T* dk, bool accumulate,
                                     Extents extents) {
  const std::int64_t row = blockIdx.x, b = row / extents.keys, s = row - b * extents.keys;
  const int c = blockIdx.y * kThreads + threadIdx.x;
  if (c >= extents.width) return;
  const float key = to_float(k[row * extents.width + c]), weight = to_float(v[c]);
  float sum = 0;
  for (std::int64_t t = 0; t < extents.queries; ++t) {
    const std::int64_t query = b * extents.queries + t;
    const float h = tanhf(to_float(q[query * extents.width + c]) + key);
    sum += to_float(dscores[query * extents.keys + s]) * (1 - h * h);
  }
  sum *= weight;
  T* to = dk + row * extents.width + c;
  *to = from_float<T>(accumulate ? to_float(*to) + sum : sum);
}

}  // namespace
}  // namespace cuda

void CudaBackend::additive_scores(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& scores) {
  using namespace cuda;
  if (scores.size() == 0) return;
  with_float(q.dtype(), "additive_scores", [&](auto type) {
    using T = typename decltype(type)::type;
    scores_kernel<T><<<blocks_for(scores.size(), kThreads / kWarp), kThreads, 0, stream()>>>(
        pointer<T>(q), pointer<T>(k), pointer<T>(v), pointer<T>(scores), extents_of(q, k));
  });
  launch_check("additive_scores");
}

void CudaBackend::additive_scores_backward(const Tensor& dscores, const Tensor& q, const Tensor& k, const Tensor& v,
                                           const Grad& dq, const Grad& dk, const Grad& dv) {
  using namespace cuda;
  const Extents extents = extents_of(q, k);
  const unsigned strips = blocks_for(extents.width, kThreads);
  if (extents.width == 0) return;
  with_float(q.dtype(), "additive_scores_backward", [&](auto type) {
    using T = typename decltype(type)::type;
    const T *d = pointer<T>(dscores), *queries = pointer<T>(q), *keys = pointer<T>(k), *weight = pointer<T>(v);
    if (dq || dv) {
      const std::int64_t rows = extents.batch * extents.queries;
      float* partial = nullptr;
      if (dv) partial = static_cast<float*>(scratch(static_cast<std::size_t>(rows * extents.width) * sizeof(float)));
      if (rows > 0)
        queries_backward_kernel<T><<<dim3(blocks_for(rows, 1), strips), kThreads, 0, stream()>>>(
            d, queries, keys, weight, pointer<T>(dq.into), dq.accumulate, partial, extents);
      launch_check("additive_scores_backward queries");
      if (dv)
        sum_partials(*this, {.data = partial, .chunks = rows, .width = extents.width, .stride = extents.width}, dv);
    }
    const std::int64_t rows = extents.batch * extents.keys;
    if (dk && rows > 0)
      keys_backward_kernel<T><<<dim3(blocks_for(rows, 1), strips), kThreads, 0, stream()>>>(
          d, queries, keys, weight, pointer<T>(dk.into), dk.accumulate, extents);
    launch_check("additive_scores_backward keys");
  });
}

}  // namespace attend
