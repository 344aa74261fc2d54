// sum = x + dropout(branch); y = (sum - mean) / sqrt(var + eps) · weight + bias: the "Add & Norm" box of Vaswani et al.
// 2017, and layer norm (Ba et al. 2016) when there is no branch. One read of the inputs, one write of the outputs.
#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/dropout.cuh"
#include "attend/cuda/rows/row_layout.cuh"

namespace attend {
namespace cuda {
namespace {

template <class T>
struct Forward {
  const T* x;
  const T* branch;
  const T* weight;
  const T* bias;
  T* sum;
  T* y;
  float* mean;
  float* rstd;
  std::int64_t rows;
  int width;
  float eps;
  DropoutMask mask;
};

template <class Layout>
__global__ void __launch_bounds__(Layout::kThreads) add_norm_kernel(Forward<typename Layout::T> args) {
  using T = typename Layout::T;
  constexpr int N = Layout::kElements, P = Layout::kPacks;
  __shared__ typename Layout::Meeting meeting;
  const std::int64_t row = blockIdx.x * static_cast<std::int64_t>(Layout::kRows) + Layout::row();
  if (Layout::kWarps == 1 && row >= args.rows) return;
  const std::int64_t base = row * args.width;
  float x[P][N];
  float total = 0;
  const std::uint64_t seed = args.mask.active() ? args.mask.read_seed() : 0;
#pragma unroll
  for (int p = 0; p < P; ++p) {
    const int column = Layout::column(p);
    if (column < args.width) load(args.x + base + column, x[p]);
  }
  if (args.branch) {
    float branch[P][N];
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const int column = Layout::column(p);
      if (column < args.width) load(args.branch + base + column, branch[p]);
    }
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const int column = Layout::column(p);
      if (column >= args.width) continue;
      if (args.mask.active()) {
        float factor[N];
        args.mask.factors(seed, static_cast<std::uint64_t>(base + column), factor);
#pragma unroll
        for (int j = 0; j < N; ++j) branch[p][j] *= factor[j];
      }
#pragma unroll
      for (int j = 0; j < N; ++j) x[p][j] = rounded<T>(x[p][j] + branch[p][j]);
      if (args.sum) store(args.sum + base + column, x[p]);
    }
  }
#pragma unroll
  for (int p = 0; p < P; ++p)
    if (Layout::column(p) < args.width)
#pragma unroll
      for (int j = 0; j < N; ++j) total += x[p][j];
  const float mean = Layout::sums({total, 0.0f}, meeting, 0).x / args.width;
  float squares = 0;
#pragma unroll
  for (int p = 0; p < P; ++p)
    if (Layout::column(p) < args.width)
#pragma unroll
      for (int j = 0; j < N; ++j) squares += (x[p][j] - mean) * (x[p][j] - mean);
  const float rstd = rsqrtf(Layout::sums({squares, 0.0f}, meeting, 1).x / args.width + args.eps);
#pragma unroll
  for (int p = 0; p < P; ++p) {
    const int column = Layout::column(p);
    if (column >= args.width) continue;
    float weight[N], bias[N] = {};
    load(args.weight + column, weight);
    if (args.bias) load(args.bias + column, bias);
#pragma unroll
    for (int j = 0; j < N; ++j) x[p][j] = (x[p][j] - mean) * rstd * weight[j] + bias[j];
    store(args.y + base + column, x[p]);
  }
  if (Layout::lane() == 0) args.mean[row] = mean, args.rstd[row] = rstd;
}

// Any width and alignment: a block walks the row three times, out of the cache after the first.
constexpr int kWalkThreads = 256;

template <class T>
__global__ void __launch_bounds__(kWalkThreads) add_norm_walk(Forward<T> args) {
  __shared__ float shared[kWalkThreads / kWarp];
  const std::int64_t row = blockIdx.x, base = row * args.width;
  const std::uint64_t seed = args.mask.active() ? args.mask.read_seed() : 0;
  const auto value = [&](int c) {
    float x = to_float(args.x[base + c]);
    if (!args.branch) return x;
    float factor[1] = {1.0f};
    if (args.mask.active()) args.mask.factors(seed, static_cast<std::uint64_t>(base + c), factor);
    return rounded<T>(x + to_float(args.branch[base + c]) * factor[0]);
  };
  float total = 0, squares = 0;
  for (int c = threadIdx.x; c < args.width; c += kWalkThreads) total += value(c);
  const float mean = block_sum<kWalkThreads>(total, shared) / args.width;
  for (int c = threadIdx.x; c < args.width; c += kWalkThreads) squares += (value(c) - mean) * (value(c) - mean);
  const float rstd = rsqrtf(block_sum<kWalkThreads>(squares, shared) / args.width + args.eps);
  for (int c = threadIdx.x; c < args.width; c += kWalkThreads) {
    const float x = value(c);
    const float bias = args.bias ? to_float(args.bias[c]) : 0.0f;
    if (args.sum) args.sum[base + c] = from_float<T>(x);
    args.y[base + c] = from_float<T>((x - mean) * rstd * to_float(args.weight[c]) + bias);
  }
  if (threadIdx.x == 0) args.mean[row] = mean, args.rstd[row] = rstd;
}

}  // namespace
}  // namespace cuda

void CudaBackend::add_norm(const AddNorm& args, const Tensor& sum, const Tensor& y, const Tensor& mean,
                           const Tensor& rstd) {
  using namespace cuda;
  if (y.size() == 0) return;
  with_float(y.dtype(), "add_norm", [&](auto type) {
    using T = typename decltype(type)::type;
    const Forward<T> forward = {.x = pointer<T>(args.x),
                                .branch = pointer<T>(args.branch),
                                .weight = pointer<T>(args.weight),
                                .bias = pointer<T>(args.bias),
                                .sum = pointer<T>(sum),
                                .y = pointer<T>(y),
                                .mean = pointer<float>(mean),
                                .rstd = pointer<float>(rstd),
                                .rows = y.rows(),
                                .width = static_cast<int>(y.width()),
                                .eps = args.eps,
                                .mask = DropoutMask(args.dropout)};
    const bool aligned = aligned16(args.x) && aligned16(args.branch) && aligned16(args.weight) &&
                         aligned16(args.bias) && aligned16(sum) && aligned16(y);
    const bool done =
        aligned && with_narrow_layout<T>(y.width(), [&](auto layout) {
          using Layout = decltype(layout);
          add_norm_kernel<Layout><<<blocks_for(y.rows(), Layout::kRows), Layout::kThreads, 0, stream()>>>(forward);
        });
    // In place (sum over x or branch) would change what the second walk reads.
    if (!done) add_norm_walk<T><<<blocks_for(y.rows(), 1), kWalkThreads, 0, stream()>>>(forward);
  });
  launch_check("add_norm");
}

}  // namespace attend
