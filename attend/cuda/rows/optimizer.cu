// Optimisers: one launch over the flat buffers of all parameters. What changes from step to step (learning rate, bias
// corrections, clip scale) is read from device memory, so that a captured step stays valid.
#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/block.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kNormThreads = 512, kNormBlocks = 1024;

// Σ g² of a block's share.
__global__ void __launch_bounds__(kNormThreads)
    squares_kernel(const float* gradient, std::int64_t size, bool aligned, float* partial) {
  __shared__ float shared[kNormThreads / kWarp];
  const std::int64_t thread = blockIdx.x * static_cast<std::int64_t>(kNormThreads) + threadIdx.x;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * kNormThreads;
  const std::int64_t packs = aligned ? size / 4 : 0;
  float sum = 0;
#pragma unroll 4
  for (std::int64_t i = thread; i < packs; i += threads) {
    float g[4];
    load_once(gradient + i * 4, g);
    sum += (g[0] * g[0] + g[1] * g[1]) + (g[2] * g[2] + g[3] * g[3]);
  }
  for (std::int64_t i = packs * 4 + thread; i < size; i += threads) sum += gradient[i] * gradient[i];
  sum = block_sum<kNormThreads>(sum, shared);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void norm_kernel(const float* partial, int count, float max_norm, float* norm) {
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += kWarp) sum += partial[i];
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x != 0) return;
  const float length = static_cast<float>(sqrt(sum));
  float clip = 1;
  if (max_norm > 0 && length > max_norm) clip = max_norm / length;
  norm[0] = length;
  norm[1] = isfinite(length) ? clip : 0.0f;
}

template <class T>
struct Parameters {
  T* value;  // null when master is what the model computes with
  float* master;
  const float* gradient;
  const float* rate;
  const float* norm;
  std::int64_t size;
  float weight_decay;
};

struct AdamW {
  float* m;
  float* v;
  float beta1, beta2, eps;

  // Loads N moments of each kind, updates N weights.
  template <int N>
  __device__ __forceinline__ void update(std::int64_t i, const float* rate, float decay, const float (&g)[N],
                                         float (&w)[N]) const {
    float first[N], second[N];
    load(m + i, first);
    load(v + i, second);
    const float step = rate[0] / rate[1], correction = rsqrtf(rate[2]), keep = 1 - rate[0] * decay;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      first[j] = beta1 * first[j] + (1 - beta1) * g[j];
      second[j] = beta2 * second[j] + (1 - beta2) * g[j] * g[j];
      w[j] = keep * w[j] - step * first[j] / (sqrtf(second[j]) * correction + eps);
    }
    store(m + i, first);
    store(v + i, second);
  }
};

struct Sgd {
  float* velocity;  // null without momentum
  float momentum;
  bool nesterov;

  template <int N>
  __device__ __forceinline__ void update(std::int64_t i, const float* rate, float decay, const float (&g)[N],
                                         float (&w)[N]) const {
    float v[N] = {};
    if (velocity) load(velocity + i, v);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const float now = g[j] + decay * w[j];
      v[j] = momentum * v[j] + now;
      w[j] -= rate[0] * (nesterov ? now + momentum * v[j] : v[j]);
    }
    if (velocity) store(velocity + i, v);
  }
};

template <class T, int N, class Rule>
__device__ __forceinline__ void update(const Parameters<T>& args, const Rule& rule, float clip, std::int64_t i) {
  float g[N], w[N];
  load_once(args.gradient + i, g);
  load(args.master + i, w);
#pragma unroll
  for (int j = 0; j < N; ++j) g[j] *= clip;
  rule.update(i, args.rate, args.weight_decay, g, w);
  store(args.master + i, w);
  if (args.value) store(args.value + i, w);
}

template <class T, int N, class Rule>
__global__ void __launch_bounds__(kThreads) optimizer_kernel(Parameters<T> args, Rule rule) {
  const float clip = args.norm ? args.norm[1] : 1.0f;
  if (clip == 0.0f) return;
  const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x) * N;
  if (i + N <= args.size)
    update<T, N>(args, rule, clip, i);
  else
    for (std::int64_t at = i; at < args.size; ++at) update<T, 1>(args, rule, clip, at);
}

template <class Rule>
void optimize(const CudaBackend& backend, const Optimizer& args, const Rule& rule, bool aligned) {
  const std::int64_t size = args.master.size();
  if (size == 0) return;
  with_float(args.value.dtype(), "optimizer", [&](auto type) {
    using T = typename decltype(type)::type;
    const Parameters<T> parameters = {.value = args.value.raw() == args.master.raw() ? nullptr : pointer<T>(args.value),
                                      .master = pointer<float>(args.master),
                                      .gradient = pointer<float>(args.gradient),
                                      .rate = pointer<float>(args.rate),
                                      .norm = pointer<float>(args.norm),
                                      .size = size,
                                      .weight_decay = args.weight_decay};
    if (aligned && aligned16(args.value) && aligned16(args.master) && aligned16(args.gradient))
      optimizer_kernel<T, 4>
          <<<blocks_for(divide_up(size, 4), kThreads), kThreads, 0, backend.stream()>>>(parameters, rule);
    else
      optimizer_kernel<T, 1><<<blocks_for(size, kThreads), kThreads, 0, backend.stream()>>>(parameters, rule);
  });
  launch_check("optimizer");
}

}  // namespace
}  // namespace cuda

void CudaBackend::gradient_norm(const Tensor& gradient, float max_norm, const Tensor& norm) {
  using namespace cuda;
  const int blocks = static_cast<int>(
      std::min<std::int64_t>(kNormBlocks, std::max<std::int64_t>(divide_up(gradient.size(), kNormThreads * 4), 1)));
  auto* partial = static_cast<float*>(scratch(kNormBlocks * sizeof(float)));
  squares_kernel<<<blocks, kNormThreads, 0, stream()>>>(pointer<float>(gradient), gradient.size(), aligned16(gradient),
                                                        partial);
  launch_check("gradient_norm squares");
  norm_kernel<<<1, kWarp, 0, stream()>>>(partial, blocks, max_norm, pointer<float>(norm));
  launch_check("gradient_norm");
}

void CudaBackend::adamw(const Optimizer& args, float beta1, float beta2, float eps, const Tensor& m, const Tensor& v) {
  using namespace cuda;
  const AdamW rule = {.m = pointer<float>(m), .v = pointer<float>(v), .beta1 = beta1, .beta2 = beta2, .eps = eps};
  optimize(*this, args, rule, aligned16(m) && aligned16(v));
}

void CudaBackend::sgd(const Optimizer& args, const Momentum& momentum, const Tensor& velocity) {
  using namespace cuda;
  const Sgd rule = {.velocity = pointer<float>(velocity), .momentum = momentum.share, .nesterov = momentum.nesterov};
  optimize(*this, args, rule, aligned16(velocity));
}

}  // namespace attend
