// The backward pass of add_norm: d = dsum + rstd · (g - mean(g) - x̂ · mean(g · x̂)) with g = dy · weight, for x and the
// branch in one pass, and the column sums for weight and bias.
#include "attend/cuda/column_sums.cuh"
#include "attend/cuda/dropout.cuh"
#include "attend/cuda/launch.cuh"
#include "attend/cuda/row_layout.cuh"

namespace attend {
namespace cuda {
namespace {

template <class T>
struct Backward {
  const T* dy;
  const T* x;
  const T* dsum;
  const T* weight;
  const float* mean;
  const float* rstd;
  T* dx;
  T* dbranch;
  float* partial;  // [blocks, 2, width]: of weight and of bias; null when nobody wants them
  std::int64_t rows;
  int width;
  bool add_dx, add_dbranch;
  DropoutMask mask;
};

template <int N, class T>
__device__ __forceinline__ void put(T* to, float (&x)[N], bool accumulate) {
  if (accumulate) {
    float before[N];
    load(to, before);
#pragma unroll
    for (int j = 0; j < N; ++j) x[j] += before[j];
  }
  store(to, x);
}

// A block takes every gridDim-th group of rows and keeps its share of the column sums in registers.
template <class Layout>
__global__ void __launch_bounds__(Layout::kThreads, 3) add_norm_backward_kernel(Backward<typename Layout::T> args) {
  using T = typename Layout::T;
  constexpr int N = Layout::kElements, P = Layout::kPacks;
  __shared__ float shared[4];
  const std::uint64_t seed = args.mask.active() ? args.mask.read_seed() : 0;
  const float scale = 1.0f / args.width;
  float dweight[P][N] = {}, dbias[P][N] = {};
  for (std::int64_t row = blockIdx.x * static_cast<std::int64_t>(Layout::kRows) + Layout::row(); row < args.rows;
       row += static_cast<std::int64_t>(gridDim.x) * Layout::kRows) {
    const std::int64_t base = row * args.width;
    float dy[P][N], x[P][N];
    Pack<T, N> dsum[P];  // as it is in memory: half the registers
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const int column = Layout::column(p);
      if (column >= args.width) continue;
      load(args.dy + base + column, dy[p]);
      load(args.x + base + column, x[p]);
      if (args.dsum) dsum[p] = *reinterpret_cast<const Pack<T, N>*>(args.dsum + base + column);
    }
    const float mean = args.mean[row], rstd = args.rstd[row];
    float sum = 0, product = 0;
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const int column = Layout::column(p);
      if (column >= args.width) continue;
      float weight[N];
      load(args.weight + column, weight);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        x[p][j] = (x[p][j] - mean) * rstd;
        dweight[p][j] += dy[p][j] * x[p][j];
        dbias[p][j] += dy[p][j];
        dy[p][j] *= weight[j];
        sum += dy[p][j];
        product += dy[p][j] * x[p][j];
      }
    }
    sum = Layout::sum(sum, shared) * scale;
    product = Layout::sum(product, shared) * scale;
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const int column = Layout::column(p);
      if (column >= args.width) continue;
#pragma unroll
      for (int j = 0; j < N; ++j) {
        dy[p][j] = rstd * (dy[p][j] - sum - x[p][j] * product);
        if (args.dsum) dy[p][j] += to_float(dsum[p].at[j]);
      }
      if (args.dbranch) {
        float factor[N];
        if (args.mask.active()) {
          args.mask.factors(seed, static_cast<std::uint64_t>(base + column), factor);
#pragma unroll
          for (int j = 0; j < N; ++j) factor[j] *= dy[p][j];
        } else {
#pragma unroll
          for (int j = 0; j < N; ++j) factor[j] = dy[p][j];
        }
        put(args.dbranch + base + column, factor, args.add_dbranch);
      }
      if (args.dx) put(args.dx + base + column, dy[p], args.add_dx);
    }
  }
  if (!args.partial) return;
  // The rows of a block were shared out to its warps: add them up in order.
  float* partial = args.partial + blockIdx.x * 2ll * args.width;
  if constexpr (Layout::kRows > 1) {
    __shared__ float rows[Layout::kRows - 1][P * kWarp * N];
#pragma unroll
    for (int which = 0; which < 2; ++which) {
      float(&mine)[P][N] = which == 0 ? dweight : dbias;
      __syncthreads();
      if (Layout::row() > 0)
#pragma unroll
        for (int p = 0; p < P; ++p)
#pragma unroll
          for (int j = 0; j < N; ++j) rows[Layout::row() - 1][(p * N + j) * kWarp + Layout::lane()] = mine[p][j];
      __syncthreads();
      if (Layout::row() == 0)
        for (int r = 0; r < Layout::kRows - 1; ++r)
#pragma unroll
          for (int p = 0; p < P; ++p)
#pragma unroll
            for (int j = 0; j < N; ++j) mine[p][j] += rows[r][(p * N + j) * kWarp + Layout::lane()];
    }
    if (Layout::row() > 0) return;
  }
#pragma unroll
  for (int p = 0; p < P; ++p) {
    const int column = Layout::column(p);
    if (column >= args.width) continue;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      partial[column + j] = dweight[p][j];
      partial[args.width + column + j] = dbias[p][j];
    }
  }
}

// Any width and alignment; the column sums live in the partial sums themselves, each thread adding to its own columns.
constexpr int kWalkThreads = 256;

template <class T>
__global__ void __launch_bounds__(kWalkThreads) add_norm_backward_walk(Backward<T> args) {
  __shared__ float shared[kWalkThreads / kWarp];
  const std::uint64_t seed = args.mask.active() ? args.mask.read_seed() : 0;
  float* partial = args.partial ? args.partial + blockIdx.x * 2ll * args.width : nullptr;
  if (partial)
    for (int c = threadIdx.x; c < args.width; c += kWalkThreads) partial[c] = partial[args.width + c] = 0;
  for (std::int64_t row = blockIdx.x; row < args.rows; row += gridDim.x) {
    const std::int64_t base = row * args.width;
    const float mean = args.mean[row], rstd = args.rstd[row];
    float sum = 0, product = 0;
    for (int c = threadIdx.x; c < args.width; c += kWalkThreads) {
      const float dy = to_float(args.dy[base + c]), x = (to_float(args.x[base + c]) - mean) * rstd;
      if (partial) partial[c] += dy * x, partial[args.width + c] += dy;
      const float g = dy * to_float(args.weight[c]);
      sum += g, product += g * x;
    }
    sum = block_sum<kWalkThreads>(sum, shared) / args.width;
    product = block_sum<kWalkThreads>(product, shared) / args.width;
    for (int c = threadIdx.x; c < args.width; c += kWalkThreads) {
      const float x = (to_float(args.x[base + c]) - mean) * rstd;
      float d = rstd * (to_float(args.dy[base + c]) * to_float(args.weight[c]) - sum - x * product);
      if (args.dsum) d += to_float(args.dsum[base + c]);
      float factor[1] = {1.0f};
      if (args.mask.active()) args.mask.factors(seed, static_cast<std::uint64_t>(base + c), factor);
      float branch[1] = {d * factor[0]}, whole[1] = {d};
      if (args.dbranch) put(args.dbranch + base + c, branch, args.add_dbranch);
      if (args.dx) put(args.dx + base + c, whole, args.add_dx);
    }
  }
}

}  // namespace
}  // namespace cuda

void CudaBackend::add_norm_backward(const AddNorm& args, const Tensor& dy, const Tensor& dsum, const Tensor& mean,
                                    const Tensor& rstd, const Grad& dx, const Grad& dbranch, const Grad& dweight,
                                    const Grad& dbias) {
  using namespace cuda;
  if (dy.size() == 0) {
    if (dweight && !dweight.accumulate) fill(dweight.into, 0);
    if (dbias && !dbias.accumulate) fill(dbias.into, 0);
    return;
  }
  with_float(dy.dtype(), "add_norm_backward", [&](auto type) {
    using T = typename decltype(type)::type;
    const std::int64_t blocks = std::min<std::int64_t>(3 * multiprocessors_, divide_up(dy.rows(), 4));
    Backward<T> backward = {.dy = pointer<T>(dy),
                            .x = pointer<T>(args.x),
                            .dsum = pointer<T>(dsum),
                            .weight = pointer<T>(args.weight),
                            .mean = pointer<float>(mean),
                            .rstd = pointer<float>(rstd),
                            .dx = pointer<T>(dx.into),
                            .dbranch = pointer<T>(dbranch.into),
                            .partial = nullptr,
                            .rows = dy.rows(),
                            .width = static_cast<int>(dy.width()),
                            .add_dx = dx.accumulate,
                            .add_dbranch = dbranch.accumulate,
                            .mask = DropoutMask(args.dropout)};
    if (dweight || dbias)
      backward.partial =
          static_cast<float*>(scratch(static_cast<std::size_t>(blocks * 2 * dy.width()) * sizeof(float)));
    const bool aligned = aligned16(dy) && aligned16(args.x) && aligned16(dsum) && aligned16(args.weight) &&
                         aligned16(dx.into) && aligned16(dbranch.into);
    const bool done =
        aligned && with_row_layout<T>(dy.width(), [&](auto layout) {
          using Layout = decltype(layout);
          add_norm_backward_kernel<Layout><<<static_cast<unsigned>(blocks), Layout::kThreads, 0, stream()>>>(backward);
        });
    if (!done) add_norm_backward_walk<T><<<static_cast<unsigned>(blocks), kWalkThreads, 0, stream()>>>(backward);
    launch_check("add_norm_backward");
    const Partials partials = {
        .data = backward.partial, .chunks = blocks, .width = dy.width(), .stride = 2 * dy.width()};
    sum_partials(*this, partials, dweight, dbias);
  });
}

}  // namespace attend
