#include "attend/cuda/gemv.cuh"

#include "attend/cuda/activation.cuh"
#include "attend/cuda/block.cuh"
#include "attend/cuda/launch.cuh"

namespace attend::cuda {
namespace {

template <class T>
struct Problem {
  const T* a;
  const T* b;
  T* c;
  const T* bias;
  T* pre;
  std::int64_t ldb;
  int n, k;
  float alpha, beta;
  Activation activation;
};

template <class T>
__device__ __forceinline__ void finish(const Problem<T>& p, int column, float sum) {
  float value[1] = {p.alpha * sum};
  if (p.bias) value[0] += to_float(p.bias[column]);
  if (p.beta != 0.0f) value[0] += p.beta * to_float(p.c[column]);
  if (p.pre) p.pre[column] = from_float<T>(value[0]);
  activate(p.activation, value);
  p.c[column] = from_float<T>(value[0]);
}

// b is [n, k]: a block takes four rows of b and all its threads split k, so that every load of a short row is in flight
// at once: at k = 3,072 a thread has twelve.
constexpr int kRowThreads = 128, kRowsEach = 4;

template <class T>
__global__ void __launch_bounds__(kRowThreads) gemv_rows(Problem<T> p) {
  constexpr int N = kPack<T>, kWarps = kRowThreads / kWarp;
  __shared__ float sums[kWarps][kRowsEach];
  const int first = blockIdx.x * kRowsEach;
  float sum[kRowsEach] = {};
#pragma unroll 3
  for (int k = threadIdx.x * N; k < p.k; k += kRowThreads * N) {
    float a[N], b[kRowsEach][N];
#pragma unroll
    for (int e = 0; e < kRowsEach; ++e) load_once(p.b + min(first + e, p.n - 1) * p.ldb + k, b[e]);
    load(p.a + k, a);
#pragma unroll
    for (int e = 0; e < kRowsEach; ++e)
#pragma unroll
      for (int j = 0; j < N; ++j) sum[e] += a[j] * b[e][j];
  }
#pragma unroll
  for (int e = 0; e < kRowsEach; ++e) {
    const float total = warp_sum(sum[e]);
    if (threadIdx.x % kWarp == 0) sums[threadIdx.x / kWarp][e] = total;
  }
  __syncthreads();
  const int e = threadIdx.x;
  if (e >= kRowsEach || first + e >= p.n) return;
  float total = 0;
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) total += sums[warp][e];
  finish(p, first + e, total);
}

// b is [k, n]: a block takes two packs of columns, all its threads split k, and their sums meet in shared memory. Two
// packs are a whole 32-byte sector, and 768 columns still give 48 blocks.
constexpr int kColumnThreads = 512, kAcross = 2, kMaxColumns = 8192;

template <class T>
__global__ void __launch_bounds__(kColumnThreads) gemv_columns(Problem<T> p) {
  constexpr int N = kPack<T>, kDown = kColumnThreads / kAcross, kWarps = kColumnThreads / kWarp;
  __shared__ float sums[kWarps][kAcross * N];
  const int across = threadIdx.x % kAcross, down = threadIdx.x / kAcross;
  const int column = (blockIdx.x * kAcross + across) * N;
  float sum[N] = {};
  if (column < p.n) {
#pragma unroll 4
    for (int k = down; k < p.k; k += kDown) {
      float b[N];
      load_once(p.b + k * p.ldb + column, b);
      const float a = to_float(p.a[k]);
#pragma unroll
      for (int j = 0; j < N; ++j) sum[j] += a * b[j];
    }
  }
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
#pragma unroll
  for (int j = 0; j < N; ++j) {
#pragma unroll
    for (int step = 16; step >= kAcross; step >>= 1) sum[j] += __shfl_xor_sync(0xffffffffu, sum[j], step);
    if (lane < kAcross) sums[warp][lane * N + j] = sum[j];
  }
  __syncthreads();
  const int at = blockIdx.x * kAcross * N + threadIdx.x;
  if (threadIdx.x >= kAcross * N || at >= p.n) return;
  float total = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) total += sums[w][threadIdx.x];
  finish(p, at, total);
}

}  // namespace

bool gemv(const CudaBackend& backend, const Gemm& gemm, Activation activation) {
  const auto wide = [&](std::int64_t elements) { return elements * bytes_of(gemm.in) % 16 == 0; };
  const bool fits = gemm.m == 1 && gemm.batch == 1 && !gemm.transpose_a && gemm.in == gemm.out && gemm.n < (1 << 30) &&
                    gemm.k < (1 << 30) && aligned16(gemm.b) && wide(gemm.ldb) &&
                    (gemm.transpose_b ? wide(gemm.k) && aligned16(gemm.a) : wide(gemm.n) && gemm.n <= kMaxColumns);
  if (!fits) return false;
  with_float(gemm.in, "matmul", [&](auto type) {
    using T = typename decltype(type)::type;
    const Problem<T> problem = {.a = static_cast<const T*>(gemm.a),
                                .b = static_cast<const T*>(gemm.b),
                                .c = static_cast<T*>(gemm.c),
                                .bias = static_cast<const T*>(gemm.bias),
                                .pre = static_cast<T*>(gemm.pre),
                                .ldb = gemm.ldb,
                                .n = static_cast<int>(gemm.n),
                                .k = static_cast<int>(gemm.k),
                                .alpha = gemm.alpha,
                                .beta = gemm.beta,
                                .activation = activation};
    if (gemm.transpose_b)
      gemv_rows<T><<<blocks_for(gemm.n, kRowsEach), kRowThreads, 0, backend.stream()>>>(problem);
    else
      gemv_columns<T><<<blocks_for(gemm.n, kAcross * kPack<T>), kColumnThreads, 0, backend.stream()>>>(problem);
  });
  launch_check("gemv");
  return true;
}

}  // namespace attend::cuda
