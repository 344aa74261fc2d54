// Activations on their own, and their backward pass with the bias gradient of the linear layer before them.
#include "attend/cuda/rows/activation.cuh"

#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/column_sums.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 256;

template <class T, int N>
__global__ void activation_kernel(const T* x, T* y, std::int64_t size, Activation kind) {
  const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x) * N;
  if (i >= size) return;
  if (i + N > size) {
    for (std::int64_t at = i; at < size; ++at) {
      float value[1] = {to_float(x[at])};
      activate(kind, value);
      y[at] = from_float<T>(value[0]);
    }
    return;
  }
  float values[N];
  load(x + i, values);
  activate(kind, values);
  store(y + i, values);
}

// A block takes 32 packs of columns and a chunk of rows: dx for all of them, and one partial sum per column. Each of
// its 8 warps takes every 8th row; x may be null when kind is none, dx and partial when nobody wants them.
template <class T>
struct Backward {
  const T* dy;
  const T* x;
  T* dx;
  float* partial;
  std::int64_t rows;
  int width, chunk;  // rows per chunk
  Activation kind;
  bool accumulate;
};

constexpr int kLanes = 32, kRows = 8;

// Has an activation: two rows of dy and x are in flight together. Without one only dy is read, four rows together.
template <class T, int N, bool Activated>
__global__ void __launch_bounds__(kLanes* kRows, Activated ? 3 : 4) backward_kernel(Backward<T> args) {
  constexpr int kAtOnce = Activated ? 2 : 4;
  __shared__ float sums[kRows][kLanes * N + 1];
  const int column = (blockIdx.x * kLanes + threadIdx.x) * N;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.y) * args.chunk;
  const std::int64_t end = begin + args.chunk < args.rows ? begin + args.chunk : args.rows;
  const auto pack_at = [](const T* from) { return *reinterpret_cast<const Pack<T, N>*>(from); };
  float sum[N] = {};
  if (column < args.width) {
    for (std::int64_t first = begin + threadIdx.y; first < end; first += kRows * kAtOnce) {
      Pack<T, N> from_dy[kAtOnce], from_x[Activated ? kAtOnce : 1];
#pragma unroll
      for (int r = 0; r < kAtOnce; ++r) {
        const std::int64_t at = (first + r * kRows) * args.width + column;
        if (first + r * kRows >= end) break;
        from_dy[r] = pack_at(args.dy + at);
        if constexpr (Activated) from_x[r] = pack_at(args.x + at);
      }
#pragma unroll
      for (int r = 0; r < kAtOnce; ++r) {
        if (first + r * kRows >= end) break;
        T* dx = args.dx + (first + r * kRows) * args.width + column;
        float dy[N], x[N];
#pragma unroll
        for (int j = 0; j < N; ++j) dy[j] = to_float(from_dy[r].at[j]);
        if constexpr (Activated) {
#pragma unroll
          for (int j = 0; j < N; ++j) x[j] = to_float(from_x[r].at[j]);
          differentiate(args.kind, x, dy);
        }
#pragma unroll
        for (int j = 0; j < N; ++j) sum[j] += dy[j];
        if (!args.dx) continue;
        if (args.accumulate) {
          load(dx, x);
#pragma unroll
          for (int j = 0; j < N; ++j) dy[j] += x[j];
        }
        store(dx, dy);
      }
    }
  }
  if (!args.partial) return;
#pragma unroll
  for (int j = 0; j < N; ++j) sums[threadIdx.y][threadIdx.x * N + j] = sum[j];
  __syncthreads();
  for (int i = threadIdx.y * kLanes + threadIdx.x; i < kLanes * N; i += kLanes * kRows) {
    const int at = blockIdx.x * kLanes * N + i;
    if (at >= args.width) break;
    float total = 0;
    for (int r = 0; r < kRows; ++r) total += sums[r][i];
    args.partial[static_cast<std::int64_t>(blockIdx.y) * args.width + at] = total;
  }
}

// Rows a chunk: enough blocks to fill the device, but no more partial sums than needed.
int rows_per_chunk(std::int64_t rows, std::int64_t strips) {
  constexpr std::int64_t kBlocks = 4096;
  const std::int64_t chunks = std::max<std::int64_t>(kBlocks / std::max<std::int64_t>(strips, 1), 1);
  const std::int64_t chunk = divide_up(divide_up(rows, chunks), 32) * 32;
  // The grid's second axis ends at 65,535.
  return static_cast<int>(std::max<std::int64_t>(chunk, divide_up(divide_up(rows, 65535), 32) * 32));
}

}  // namespace
}  // namespace cuda

void CudaBackend::activation(const Tensor& x, Activation kind, const Tensor& y) {
  using namespace cuda;
  if (x.size() == 0) return;
  with_float(x.dtype(), "activation", [&](auto type) {
    using T = typename decltype(type)::type;
    constexpr int N = kPack<T>;
    if (aligned16(x) && aligned16(y))
      activation_kernel<T, N><<<blocks_for(divide_up(x.size(), N), kThreads), kThreads, 0, stream()>>>(
          pointer<T>(x), pointer<T>(y), x.size(), kind);
    else
      activation_kernel<T, 1>
          <<<blocks_for(x.size(), kThreads), kThreads, 0, stream()>>>(pointer<T>(x), pointer<T>(y), x.size(), kind);
  });
  launch_check("activation");
}

void CudaBackend::activation_backward(const Tensor& dy, const Tensor& x, Activation kind, const Grad& dx,
                                      const Grad& bias) {
  using namespace cuda;
  if (!dx && !bias) return;
  if (dy.size() == 0) {
    if (bias && !bias.accumulate) fill(bias.into, 0);
    return;
  }
  with_float(dy.dtype(), "activation_backward", [&](auto type) {
    using T = typename decltype(type)::type;
    const bool wide = dy.width() % kPack<T> == 0 && aligned16(dy) && aligned16(x) && aligned16(dx.into);
    const std::int64_t strips = divide_up(dy.width(), kLanes * (wide ? kPack<T> : 1));
    const int chunk = rows_per_chunk(dy.rows(), strips);
    const std::int64_t chunks = divide_up(dy.rows(), chunk);
    Backward<T> args = {.dy = pointer<T>(dy),
                        .x = kind == Activation::none ? nullptr : pointer<T>(x),
                        .dx = pointer<T>(dx.into),
                        .partial = nullptr,
                        .rows = dy.rows(),
                        .width = static_cast<int>(dy.width()),
                        .chunk = chunk,
                        .kind = kind,
                        .accumulate = dx.accumulate};
    if (bias)
      args.partial = static_cast<float*>(scratch(static_cast<std::size_t>(chunks * dy.width()) * sizeof(float)));
    // Without an activation dx is dy: nothing to do when they are the same memory.
    if (kind == Activation::none && args.dx == args.dy && !args.accumulate) args.dx = nullptr;
    const dim3 grid(static_cast<unsigned>(strips), static_cast<unsigned>(chunks)), block(kLanes, kRows);
    if (wide && args.x)
      backward_kernel<T, kPack<T>, true><<<grid, block, 0, stream()>>>(args);
    else if (wide)
      backward_kernel<T, kPack<T>, false><<<grid, block, 0, stream()>>>(args);
    else if (args.x)
      backward_kernel<T, 1, true><<<grid, block, 0, stream()>>>(args);
    else
      backward_kernel<T, 1, false><<<grid, block, 0, stream()>>>(args);
    launch_check("activation_backward");
    if (bias)
      sum_partials(*this, {.data = args.partial, .chunks = chunks, .width = dy.width(), .stride = dy.width()}, bias);
  });
}

}  // namespace attend
