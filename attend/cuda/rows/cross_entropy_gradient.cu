// The loss and the gradient of the logits in one go: a row is read once, waits in shared memory while its sum of
// exponentials is found, and is written back as its gradient. 13 GB of traffic instead of 20 at 65,536 x 50,304.
#include "attend/cuda/rows/cross_entropy.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 512;  // two rows of 50,304 in bf16 fit into a multiprocessor, so one loads while one stores

template <class T>
struct Args {
  T* logits;
  Targets targets;
  const float* total;
  float* losses;
  int width;
};

template <class T>
__global__ void __launch_bounds__(kThreads, 2) cross_entropy_gradient_kernel(Args<T> args) {
  constexpr int N = kPack<T>;
  extern __shared__ uint4 memory[];
  __shared__ ExpSum shared[kWarp];
  __shared__ float totals[kWarp];
  const std::int64_t row = blockIdx.x;
  T* logits = args.logits + row * args.width;
  // In shared memory the row begins as far from a 16-byte boundary as it does outside.
  T* kept = reinterpret_cast<T*>(memory) + reinterpret_cast<std::uintptr_t>(logits) / sizeof(T) % N;
  const std::int32_t target = args.targets.at[row];
  const bool ignored = target == args.targets.ignore;
  Running running;
  if (!ignored)
    walk_row<T, kThreads>(
        logits, args.width,
        [&](std::int64_t c) {
          const uint4 bits = __ldcs(reinterpret_cast<const uint4*>(logits + c));
          *reinterpret_cast<uint4*>(kept + c) = bits;
          const T* at = reinterpret_cast<const T*>(&bits);
          float x[N];
#pragma unroll
          for (int j = 0; j < N; ++j) x[j] = to_float(at[j]);
          running.take(x);
        },
        [&](std::int64_t c) {
          kept[c] = logits[c];
          const float x[1] = {to_float(kept[c])};
          running.take(x);
        });
  const float smoothing = args.targets.smoothing;
  const ExpSum state = block_merge<kThreads>({running.max, running.sum}, shared);
  const float sum = smoothing > 0 ? block_sum<kThreads>(running.total, totals) : 0.0f;
  const float log_sum = state.max + logf(state.sum);
  if (threadIdx.x == 0) {
    float loss = 0;
    if (!ignored) {
      const bool known = target >= 0 && target < args.width;
      loss = known ? log_sum - (1 - smoothing) * to_float(kept[target]) - smoothing / args.width * sum : NAN;
    }
    args.losses[row] = loss;
  }
  const float scale = ignored ? 0.0f : 1.0f / args.total[1];
  const RowGradient gradient = {.scale = scale,
                                .shift = log_sum * kLog2E,
                                .offset = scale * smoothing / args.width,
                                .hit = scale * (1 - smoothing),
                                .target = target};
  // Each thread meets its own entries again, so nothing is waited for. Thread 0 may have to read the target's logit
  // before its owner writes, but that is in shared memory, where nobody writes.
  walk_row<T, kThreads>(
      logits, args.width,
      [&](std::int64_t c) {
        float x[N] = {};
        if (!ignored) {
          load(kept + c, x);
          gradient.at(c, x);
        }
        store_once(logits + c, x);
      },
      [&](std::int64_t c) {
        const float x = ignored ? 0.0f : gradient.at(c, to_float(kept[c]));
        logits[c] = from_float<T>(x);
      });
}

}  // namespace
}  // namespace cuda

void CudaBackend::cross_entropy_gradient(const Tensor& logits, const Tensor& targets, float smoothing,
                                         std::int32_t ignore, const Tensor& total, const Tensor& losses,
                                         const Tensor& lse) {
  using namespace cuda;
  if (logits.size() == 0) return;
  const std::int64_t rows = logits.rows(), width = logits.width();
  const auto bytes = static_cast<std::size_t>(width) * bytes_of(logits.dtype()) + 16;
  int most = 0;
  cuda_check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device()),
             "cudaDeviceGetAttribute");
  if (width <= kWarpWidth || bytes + 1024 > static_cast<std::size_t>(most)) {
    const Tensor unused = like(total);
    cross_entropy(logits, targets, {}, smoothing, ignore, losses, lse, unused);
    return cross_entropy_backward({}, logits, targets, {}, smoothing, ignore, lse, total, {logits});
  }
  with_float(logits.dtype(), "cross_entropy_gradient", [&](auto type) {
    using T = typename decltype(type)::type;
    const auto kernel = cross_entropy_gradient_kernel<T>;
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
               "cross_entropy_gradient");
    const Args<T> args = {.logits = pointer<T>(logits),
                          .targets = {pointer<std::int32_t>(targets), ignore, smoothing},
                          .total = pointer<float>(total),
                          .losses = pointer<float>(losses),
                          .width = static_cast<int>(width)};
    kernel<<<blocks_for(rows, 1), kThreads, bytes, stream()>>>(args);
  });
  launch_check("cross_entropy_gradient");
}

}  // namespace attend
