#include "attend/cuda/gemv.cuh"

#include "attend/cuda/activation.cuh"
#include "attend/cuda/block.cuh"
#include "attend/cuda/launch.cuh"

namespace attend::cuda {
namespace {

constexpr int kMaxRows = 4;

template <class T>
struct Problem {
  const T* a;
  const T* b;
  T* c;
  const T* bias;
  T* pre;
  std::int64_t lda, ldb, ldc, ldpre;
  int m, n, k;
  float alpha, beta;
  Activation activation;
};

template <class T>
__device__ void finish(const Problem<T>& p, int row, std::int64_t column, float sum) {
  float value[1] = {p.alpha * sum};
  if (p.bias) value[0] += to_float(p.bias[column]);
  T* c = p.c + row * p.ldc + column;
  if (p.beta != 0.0f) value[0] += p.beta * to_float(*c);
  if (p.pre) p.pre[row * p.ldpre + column] = from_float<T>(value[0]);
  activate(p.activation, value);
  *c = from_float<T>(value[0]);
}

// b is [n, k]: a warp takes two rows of b and walks along them.
constexpr int kRowThreads = 128;

template <class T, int M>
__global__ void __launch_bounds__(kRowThreads) gemv_rows(Problem<T> p) {
  constexpr int N = kPack<T>;
  constexpr int kEach = 2;
  const int lane = threadIdx.x % kWarp;
  const std::int64_t first =
      (blockIdx.x * static_cast<std::int64_t>(kRowThreads / kWarp) + threadIdx.x / kWarp) * kEach;
  if (first >= p.n) return;
  float sum[kEach][M] = {};
#pragma unroll 2
  for (int k = lane * N; k < p.k; k += kWarp * N) {
    float b[kEach][N];
#pragma unroll
    for (int e = 0; e < kEach; ++e)
      load_once(p.b + min(first + e, static_cast<std::int64_t>(p.n) - 1) * p.ldb + k, b[e]);
#pragma unroll
    for (int row = 0; row < M; ++row) {
      if (row >= p.m) break;
      float a[N];
      load(p.a + row * p.lda + k, a);
#pragma unroll
      for (int e = 0; e < kEach; ++e)
#pragma unroll
        for (int j = 0; j < N; ++j) sum[e][row] += a[j] * b[e][j];
    }
  }
#pragma unroll
  for (int e = 0; e < kEach; ++e)
#pragma unroll
    for (int row = 0; row < M; ++row) {
      const float total = warp_sum(sum[e][row]);
      if (lane == 0 && row < p.m && first + e < p.n) finish(p, row, first + e, total);
    }
}

// b is [k, n]: a block takes two packs of columns, all its threads split k, and their sums meet in shared memory. Two
// packs are a whole 32-byte sector, and 768 columns still give 48 blocks.
constexpr int kColumnThreads = 512, kAcross = 2;

template <class T, int M>
__global__ void __launch_bounds__(kColumnThreads) gemv_columns(Problem<T> p) {
  constexpr int N = kPack<T>, kDown = kColumnThreads / kAcross, kWarps = kColumnThreads / kWarp;
  __shared__ float sums[kWarps][kAcross][M][N];
  const int across = threadIdx.x % kAcross, down = threadIdx.x / kAcross;
  const std::int64_t column = (blockIdx.x * static_cast<std::int64_t>(kAcross) + across) * N;
  float sum[M][N] = {};
  if (column < p.n) {
#pragma unroll 4
    for (int k = down; k < p.k; k += kDown) {
      float b[N];
      load_once(p.b + k * p.ldb + column, b);
#pragma unroll
      for (int row = 0; row < M; ++row) {
        const float a = row < p.m ? to_float(p.a[row * p.lda + k]) : 0.0f;
#pragma unroll
        for (int j = 0; j < N; ++j) sum[row][j] += a * b[j];
      }
    }
  }
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
#pragma unroll
  for (int row = 0; row < M; ++row)
#pragma unroll
    for (int j = 0; j < N; ++j) {
      float x = sum[row][j];
#pragma unroll
      for (int step = 16; step >= kAcross; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
      if (lane < kAcross) sums[warp][lane][row][j] = x;
    }
  __syncthreads();
  if (threadIdx.x >= kAcross * M * N) return;
  const int j = threadIdx.x % N, row = threadIdx.x / N % M, pack = threadIdx.x / N / M;
  float total = 0;
  for (int w = 0; w < kWarps; ++w) total += sums[w][pack][row][j];
  const std::int64_t at = (blockIdx.x * static_cast<std::int64_t>(kAcross) + pack) * N + j;
  if (row < p.m && at < p.n) finish(p, row, at, total);
}

template <class T, int M>
void launch(const CudaBackend& backend, const Problem<T>& problem, bool b_in_rows) {
  if (b_in_rows)
    gemv_rows<T, M><<<blocks_for(problem.n, kRowThreads / kWarp * 2), kRowThreads, 0, backend.stream()>>>(problem);
  else
    gemv_columns<T, M><<<blocks_for(problem.n, kAcross * kPack<T>), kColumnThreads, 0, backend.stream()>>>(problem);
  launch_check("gemv");
}

}  // namespace

bool gemv(const CudaBackend& backend, const Gemm& gemm, Activation activation) {
  const auto wide = [&](std::int64_t elements) { return elements * bytes_of(gemm.in) % 16 == 0; };
  const bool fits = gemm.m <= kMaxRows && gemm.batch == 1 && !gemm.transpose_a && gemm.in == gemm.out &&
                    gemm.n < (1 << 30) && gemm.k < (1 << 30) && aligned16(gemm.b) && wide(gemm.ldb) &&
                    (gemm.transpose_b ? wide(gemm.k) && aligned16(gemm.a) && wide(gemm.lda) : wide(gemm.n));
  if (!fits) return false;
  with_float(gemm.in, "matmul", [&](auto type) {
    using T = typename decltype(type)::type;
    const Problem<T> problem = {.a = static_cast<const T*>(gemm.a),
                                .b = static_cast<const T*>(gemm.b),
                                .c = static_cast<T*>(gemm.c),
                                .bias = static_cast<const T*>(gemm.bias),
                                .pre = static_cast<T*>(gemm.pre),
                                .lda = gemm.lda,
                                .ldb = gemm.ldb,
                                .ldc = gemm.ldc,
                                .ldpre = gemm.ldpre,
                                .m = static_cast<int>(gemm.m),
                                .n = static_cast<int>(gemm.n),
                                .k = static_cast<int>(gemm.k),
                                .alpha = gemm.alpha,
                                .beta = gemm.beta,
                                .activation = activation};
    if (gemm.m == 1)
      launch<T, 1>(backend, problem, gemm.transpose_b);
    else
      launch<T, kMaxRows>(backend, problem, gemm.transpose_b);
  });
  return true;
}

}  // namespace attend::cuda
