#include "attend/cuda/gemm/gemv.cuh"

#include "attend/cuda/early_launch.cuh"
#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/activation.cuh"
#include "attend/cuda/rows/block.cuh"

namespace attend {
namespace cuda {
namespace {

template <class T>
struct Problem {
  const T* a = nullptr;
  const T* b = nullptr;
  T* c = nullptr;
  const T* bias = nullptr;
  T* pre = nullptr;
  const T* added = nullptr;  // times beta; c itself, or another row
  std::int64_t ldb = 0;
  int n = 0, k = 0;
  float alpha = 1, beta = 0;
  Activation activation = Activation::none;
  // norm_linear only: what norms a, and where the columns from `kept` on go.
  const T* norm_weight = nullptr;
  const T* norm_bias = nullptr;
  float eps = 0;
  T* cache = nullptr;
  const std::int32_t* slot = nullptr;
  int kept = 0;
};

// What a column's end reads besides its sum: the bias, which is known long before, and what the product is added to.
struct End {
  float bias = 0, added = 0;
};

template <class T>
__device__ __forceinline__ void finish(const Problem<T>& p, int column, float sum, const End& end) {
  float value[1] = {p.alpha * sum + end.bias + end.added};
  if (p.pre) p.pre[column] = from_float<T>(value[0]);
  activate(p.activation, value);
  const T result = from_float<T>(value[0]);
  if (column < p.kept)
    p.c[column] = result;
  else
    p.cache[static_cast<std::int64_t>(*p.slot) * (p.n - p.kept) + column - p.kept] = result;
}

template <class T>
__device__ __forceinline__ float bias_of(const Problem<T>& p, int column) {
  return p.bias && column < p.n ? to_float(p.bias[column]) : 0.0f;
}
template <class T>
__device__ __forceinline__ float added_to(const Problem<T>& p, int column) {
  return p.beta != 0.0f && column < p.n ? p.beta * to_float(p.added[column]) : 0.0f;
}

// b is [n, k]: a block takes four rows of b and all its threads split k, so that every load of a short row is in flight
// at once: at k = 3,072 a thread has twelve.
constexpr int kRowThreads = 128, kRowsEach = 4;

template <class T>
__global__ void __launch_bounds__(kRowThreads) gemv_rows(Problem<T> p) {
  constexpr int N = kPack<T>, kWarps = kRowThreads / kWarp;
  __shared__ float sums[kWarps][kRowsEach];
  const int first = blockIdx.x * kRowsEach, mine = first + threadIdx.x;
  const End end = threadIdx.x < kRowsEach ? End{bias_of(p, mine), added_to(p, mine)} : End{};
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
  if (threadIdx.x >= kRowsEach || mine >= p.n) return;
  float total = 0;
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) total += sums[warp][threadIdx.x];
  finish(p, mine, total, end);
}

// b is [k, n]: a block takes two packs of columns, all its threads split k, and their sums meet in shared memory. Two
// packs are a whole 32-byte sector, and 768 columns still give 48 blocks.
constexpr int kColumnThreads = 512, kAcross = 2, kMaxColumns = 8192;

constexpr int kMaxNormed = 2048, kNormedEach = kMaxNormed / kColumnThreads;

// A row that is normed first: each thread's share of the weights, read ahead, and then norm(a) into shared memory.
template <class T>
struct RowNorm {
  float weight[kNormedEach], bias[kNormedEach];

  __device__ __forceinline__ explicit RowNorm(const Problem<T>& p) {
#pragma unroll
    for (int i = 0; i < kNormedEach; ++i) {
      const int k = threadIdx.x + i * kColumnThreads;
      weight[i] = k < p.k ? to_float(p.norm_weight[k]) : 0.0f;
      bias[i] = k < p.k && p.norm_bias ? to_float(p.norm_bias[k]) : 0.0f;
    }
  }
  __device__ __forceinline__ void operator()(const Problem<T>& p, float* normed, float* shared) const {
    float a[kNormedEach], sum = 0;
#pragma unroll
    for (int i = 0; i < kNormedEach; ++i) {
      const int k = threadIdx.x + i * kColumnThreads;
      a[i] = k < p.k ? to_float(p.a[k]) : 0.0f;
      sum += a[i];
    }
    const float mean = block_sum<kColumnThreads>(sum, shared) / p.k;
    sum = 0;
#pragma unroll
    for (int i = 0; i < kNormedEach; ++i) {
      a[i] -= mean;
      if (threadIdx.x + i * kColumnThreads < p.k) sum += a[i] * a[i];
    }
    const float rstd = rsqrtf(block_sum<kColumnThreads>(sum, shared) / p.k + p.eps);
#pragma unroll
    for (int i = 0; i < kNormedEach; ++i) {
      const int k = threadIdx.x + i * kColumnThreads;
      // As it would be read back from memory: one row and many give the same.
      if (k < p.k) normed[k] = rounded<T>(a[i] * rstd * weight[i] + bias[i]);
    }
    __syncthreads();
  }
};
template <class T>
struct NoNorm {
  __device__ __forceinline__ explicit NoNorm(const Problem<T>&) {}
  __device__ __forceinline__ void operator()(const Problem<T>&, float*, float*) const {}
};

// Everything up to wait_for_kernel_before() reads only weights, so that it may run while the kernel in front still
// does.
template <class T, bool kNorm>
__global__ void __launch_bounds__(kColumnThreads) gemv_columns(Problem<T> p) {
  constexpr int N = kPack<T>, kDown = kColumnThreads / kAcross, kWarps = kColumnThreads / kWarp, kAhead = 4;
  __shared__ float sums[kWarps][kAcross * N];
  __shared__ float normed[kNorm ? kMaxNormed : 1];
  const int across = threadIdx.x % kAcross, down = threadIdx.x / kAcross;
  const int column = min((blockIdx.x * kAcross + across) * N, p.n - N);  // what is beyond the end is thrown away
  const T* b = p.b + down * p.ldb + column;
  uint4 ahead[kAhead];
#pragma unroll
  for (int i = 0; i < kAhead; ++i)
    if (down + i * kDown < p.k) ahead[i] = __ldcs(reinterpret_cast<const uint4*>(b + i * kDown * p.ldb));
  const int mine = blockIdx.x * kAcross * N + threadIdx.x;
  const bool ends = threadIdx.x < kAcross * N && mine < p.n;
  End end;
  if (ends) end.bias = bias_of(p, mine);
  const std::conditional_t<kNorm, RowNorm<T>, NoNorm<T>> norm(p);
  wait_for_kernel_before();
  let_next_kernel_start();
  if (ends) end.added = added_to(p, mine);
  norm(p, normed, &sums[0][0]);
  float sum[N] = {};
  const auto take = [&](int k, const uint4& bits) {
    const T* row = reinterpret_cast<const T*>(&bits);
    const float a = kNorm ? normed[k] : to_float(p.a[k]);
#pragma unroll
    for (int j = 0; j < N; ++j) sum[j] += a * to_float(row[j]);
  };
#pragma unroll
  for (int i = 0; i < kAhead; ++i)
    if (down + i * kDown < p.k) take(down + i * kDown, ahead[i]);
#pragma unroll 4
  for (int k = down + kAhead * kDown; k < p.k; k += kDown)
    take(k, __ldcs(reinterpret_cast<const uint4*>(p.b + k * p.ldb + column)));
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
#pragma unroll
  for (int j = 0; j < N; ++j) {
#pragma unroll
    for (int step = 16; step >= kAcross; step >>= 1) sum[j] += __shfl_xor_sync(0xffffffffu, sum[j], step);
    if (lane < kAcross) sums[warp][lane * N + j] = sum[j];
  }
  __syncthreads();
  if (!ends) return;
  float total = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) total += sums[w][threadIdx.x];
  finish(p, mine, total, end);
}

template <class T>
void launch_columns(const CudaBackend& backend, const Problem<T>& problem, bool early) {
  const unsigned blocks = blocks_for(problem.n, kAcross * kPack<T>);
  const auto kernel = problem.norm_weight ? gemv_columns<T, true> : gemv_columns<T, false>;
  launch_early(early, kernel, blocks, kColumnThreads, backend.stream(), problem);
  launch_check("gemv");
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
                                .added = static_cast<const T*>(gemm.added ? gemm.added : gemm.c),
                                .ldb = gemm.ldb,
                                .n = static_cast<int>(gemm.n),
                                .k = static_cast<int>(gemm.k),
                                .alpha = gemm.alpha,
                                .beta = gemm.beta,
                                .activation = activation,
                                .kept = static_cast<int>(gemm.n)};
    if (!gemm.transpose_b) return launch_columns(backend, problem, gemm.settled_b);
    gemv_rows<T><<<blocks_for(gemm.n, kRowsEach), kRowThreads, 0, backend.stream()>>>(problem);
    launch_check("gemv");
  });
  return true;
}

}  // namespace cuda

bool CudaBackend::norm_linear(const NormLinear& args, const Tensor& y) {
  using namespace cuda;
  const std::int64_t n = args.weight.dim(1), k = args.weight.dim(0), bytes = bytes_of(args.weight.dtype());
  const bool fits = args.x.rows() == 1 && n <= kMaxColumns && k <= kMaxNormed && n * bytes % 16 == 0 &&
                    args.weight.row_stride() * bytes % 16 == 0 && aligned16(args.weight);
  if (!fits) return false;
  with_float(y.dtype(), "norm_linear", [&](auto type) {
    using T = typename decltype(type)::type;
    launch_columns<T>(*this,
                      Problem<T>{.a = pointer<T>(args.x),
                                 .b = pointer<T>(args.weight),
                                 .c = pointer<T>(y),
                                 .bias = pointer<T>(args.bias),
                                 .ldb = args.weight.row_stride(),
                                 .n = static_cast<int>(n),
                                 .k = static_cast<int>(k),
                                 .activation = args.activation,
                                 .norm_weight = pointer<T>(args.norm_weight),
                                 .norm_bias = pointer<T>(args.norm_bias),
                                 .eps = args.eps,
                                 .cache = pointer<T>(args.cache),
                                 .slot = pointer<std::int32_t>(args.slot),
                                 .kept = static_cast<int>(args.cache.defined() ? n - args.cache.width() : n)},
                      true);
  });
  return true;
}

}  // namespace attend
