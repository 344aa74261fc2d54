// Cross entropy with label smoothing (Szegedy et al. 2016): loss = lse - Σ q·logit, q = (1 - ε) at the target + ε / V.
// The forward pass reads the logits once (a running maximum, as in Milakov & Gimelshein 2018); the backward pass reads
// them once more and may write over them. The probabilities never stand in memory.
#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/block.cuh"
#include "attend/cuda/rows/cross_entropy.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kBlock = 512;
// The backward pass may write over what it reads, so loads cannot run ahead of stores: it needs all the threads a
// multiprocessor can hold, with 32 registers each (3.20 ms against 3.76 at 65,536 x 50,304 with 512 and 52).
constexpr int kBackwardBlock = 1024;
// blockDim = (Threads, rows per block).
template <class T, int Threads>
__global__ void __launch_bounds__(Threads == kWarp ? 256 : Threads)
    cross_entropy_kernel(const T* logits, Targets targets, float* losses, float* lse, std::int64_t rows,
                         std::int64_t width) {
  __shared__ ExpSum shared[kWarp];
  __shared__ float totals[kWarp];
  const std::int64_t row = blockIdx.x * static_cast<std::int64_t>(blockDim.y) + threadIdx.y;
  if (row >= rows) return;
  const std::int32_t target = targets.at[row];
  if (target == targets.ignore) {  // not read at all
    if (threadIdx.x == 0) losses[row] = 0, lse[row] = 0;
    return;
  }
  logits += row * width;
  Running running;
  walk_row<T, Threads>(
      logits, width,
      [&](std::int64_t c) {
        float x[kPack<T>];
        load_once(logits + c, x);
        running.take(x);
      },
      [&](std::int64_t c) {
        const float x[1] = {to_float(logits[c])};
        running.take(x);
      });
  const ExpSum state = block_merge<Threads>({running.max, running.sum}, shared);
  const float total = block_sum<Threads>(running.total, totals);
  if (threadIdx.x != 0) return;
  const float log_sum = state.max + logf(state.sum);
  lse[row] = log_sum;
  if (target < 0 || target >= width) {
    losses[row] = NAN;
    return;
  }
  float expected = to_float(logits[target]);
  if (targets.smoothing > 0) expected = (1 - targets.smoothing) * expected + targets.smoothing / width * total;
  losses[row] = log_sum - expected;
}

// One block: the mean over the rows that count.
constexpr int kMeanThreads = 1024;

__global__ void __launch_bounds__(kMeanThreads)
    mean_loss_kernel(const float* losses, Targets targets, std::int64_t rows, float* total) {
  __shared__ float shared[kWarp];
  float sum = 0, count = 0;
#pragma unroll 8
  for (std::int64_t row = threadIdx.x; row < rows; row += kMeanThreads) {
    if (losses) sum += losses[row];
    count += targets.at[row] != targets.ignore ? 1.0f : 0.0f;
  }
  sum = block_sum<kMeanThreads>(sum, shared);
  count = block_sum<kMeanThreads>(count, shared);
  if (threadIdx.x == 0) total[0] = count > 0 ? sum / count : 0.0f, total[1] = count;
}

template <class T>
struct Backward {
  const float* dloss;  // null: 1
  const T* logits;
  Targets targets;
  const float* lse;
  const float* total;
  T* dlogits;
  std::int64_t rows, width;
  bool accumulate, same_alignment;  // of logits and dlogits
};

template <class T>
__device__ __forceinline__ void put(T* to, float x, bool accumulate) {
  *to = from_float<T>(accumulate ? to_float(*to) + x : x);
}

template <class T, int Threads>
__global__ void __launch_bounds__(Threads == kWarp ? 256 : Threads, Threads == kWarp ? 8 : 2)
    cross_entropy_backward_kernel(Backward<T> args) {
  constexpr int N = kPack<T>;
  const std::int64_t row = blockIdx.x * static_cast<std::int64_t>(blockDim.y) + threadIdx.y;
  if (row >= args.rows) return;
  const T* logits = args.logits + row * args.width;
  T* dlogits = args.dlogits + row * args.width;
  const std::int32_t target = args.targets.at[row];
  const bool ignored = target == args.targets.ignore;
  if (ignored && args.accumulate) return;
  const float scale = ignored ? 0.0f : (args.dloss ? args.dloss[0] : 1.0f) / args.total[1];
  const RowGradient gradient = {.scale = scale,
                                .shift = args.lse[row] * kLog2E,
                                .offset = scale * args.targets.smoothing / args.width,
                                .hit = scale * (1 - args.targets.smoothing),
                                .target = target};
  const int width = static_cast<int>(args.width);
  const auto single = [&](int c) {
    const float x = ignored ? 0.0f : gradient.at(c, to_float(logits[c]));
    put(dlogits + c, x, args.accumulate);
  };
  // Single entries up to the first 16-byte boundary of both, packs, and single entries at the end.
  const int misaligned = static_cast<int>(reinterpret_cast<std::uintptr_t>(logits) / sizeof(T) % N);
  const int head = args.same_alignment ? min(width, (N - misaligned) % N) : width;
  const int tail = head + (width - head) / N * N;
  for (int c = threadIdx.x; c < head; c += Threads) single(c);
  for (int c = tail + threadIdx.x; c < width; c += Threads) single(c);
#pragma unroll 1
  for (int c = head + threadIdx.x * N; c < tail; c += Threads * N) {
    float x[N] = {};
    if (!ignored) {
      load_once(logits + c, x);
      gradient.at(c, x);
    }
    if (args.accumulate) {
      float before[N];
      load(dlogits + c, before);
#pragma unroll
      for (int j = 0; j < N; ++j) x[j] += before[j];
    }
    store_once(dlogits + c, x);
  }
}

}  // namespace
}  // namespace cuda

void CudaBackend::cross_entropy(const Tensor& logits, const Tensor& targets, float smoothing, std::int32_t ignore,
                                const Tensor& losses, const Tensor& lse, const Tensor& total) {
  using namespace cuda;
  const std::int64_t rows = logits.rows(), width = logits.width();
  const Targets wanted = {pointer<std::int32_t>(targets), ignore, smoothing};
  if (logits.size() > 0)
    with_float(logits.dtype(), "cross_entropy", [&](auto type) {
      using T = typename decltype(type)::type;
      if (width <= kWarpWidth)
        cross_entropy_kernel<T, kWarp><<<blocks_for(rows, 8), dim3(kWarp, 8), 0, stream()>>>(
            pointer<T>(logits), wanted, pointer<float>(losses), pointer<float>(lse), rows, width);
      else
        cross_entropy_kernel<T, kBlock><<<blocks_for(rows, 1), kBlock, 0, stream()>>>(
            pointer<T>(logits), wanted, pointer<float>(losses), pointer<float>(lse), rows, width);
    });
  launch_check("cross_entropy");
  mean_loss(losses, targets, ignore, total);
}

void CudaBackend::mean_loss(const Tensor& losses, const Tensor& targets, std::int32_t ignore, const Tensor& total) {
  using namespace cuda;
  mean_loss_kernel<<<1, kMeanThreads, 0, stream()>>>(pointer<float>(losses),
                                                     Targets{pointer<std::int32_t>(targets), ignore, 0.0f},
                                                     targets.size(), pointer<float>(total));
  launch_check("mean_loss");
}

void CudaBackend::cross_entropy_backward(const Tensor& dloss, const Tensor& logits, const Tensor& targets,
                                         float smoothing, std::int32_t ignore, const Tensor& lse, const Tensor& total,
                                         const Grad& dlogits) {
  using namespace cuda;
  if (logits.size() == 0 || !dlogits) return;
  with_float(logits.dtype(), "cross_entropy_backward", [&](auto type) {
    using T = typename decltype(type)::type;
    const auto phase = [](const Tensor& x) { return reinterpret_cast<std::uintptr_t>(x.raw()) % 16; };
    const Backward<T> args = {.dloss = pointer<float>(dloss),
                              .logits = pointer<T>(logits),
                              .targets = {pointer<std::int32_t>(targets), ignore, smoothing},
                              .lse = pointer<float>(lse),
                              .total = pointer<float>(total),
                              .dlogits = pointer<T>(dlogits.into),
                              .rows = logits.rows(),
                              .width = logits.width(),
                              .accumulate = dlogits.accumulate,
                              .same_alignment = phase(logits) == phase(dlogits.into)};
    if (args.width <= kWarpWidth)
      cross_entropy_backward_kernel<T, kWarp><<<blocks_for(args.rows, 8), dim3(kWarp, 8), 0, stream()>>>(args);
    else
      cross_entropy_backward_kernel<T, kBackwardBlock><<<blocks_for(args.rows, 1), kBackwardBlock, 0, stream()>>>(args);
  });
  launch_check("cross_entropy_backward");
}

}  // namespace attend
