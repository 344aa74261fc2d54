// The backward pass of add_norm: d = dsum + rstd · (g - mean(g) - x̂ · mean(g · x̂)) with g = dy · weight, for x and the
// branch in one pass, and the column sums for weight, bias and the bias of the projection that made the branch.
#include <cuda_pipeline_primitives.h>

#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/column_sums.cuh"
#include "attend/cuda/rows/dropout.cuh"
#include "attend/cuda/rows/row_layout.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kSums = 3;

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
  float* partial;  // [blocks, kSums, width]: of weight, bias and branch; null when nobody wants them
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

// Rows on their way: each lane copies its packs of the next rows into its own places in shared memory, without waiting
// and without registers. Only the lane itself reads them, so there is nothing to synchronise.
template <class Layout>
struct RowQueue {
  using T = typename Layout::T;
  using P = Pack<T, Layout::kElements>;
  static constexpr int kDepth = Layout::kThreads <= 192 ? 4 : Layout::kThreads <= 256 ? 3 : 1;  // 48 KB at most
  P dy[kDepth][Layout::kThreads], x[kDepth][Layout::kThreads], dsum[kDepth][Layout::kThreads];

  __device__ __forceinline__ void order(const Backward<T>& args, std::int64_t row, int column, int place) {
    if (row < args.rows && column < args.width) {
      const std::int64_t at = row * args.width + column;
      __pipeline_memcpy_async(&dy[place][threadIdx.x], args.dy + at, sizeof(P));
      __pipeline_memcpy_async(&x[place][threadIdx.x], args.x + at, sizeof(P));
      if (args.dsum) __pipeline_memcpy_async(&dsum[place][threadIdx.x], args.dsum + at, sizeof(P));
    }
    __pipeline_commit();
  }
};

// d goes to dx, and through the dropout to dbranch and its column sums.
template <class Layout>
__device__ __forceinline__ void put_gradients(const Backward<typename Layout::T>& args, std::uint64_t seed,
                                              std::int64_t at, float (&d)[Layout::kElements],
                                              float (&sums)[Layout::kElements]) {
  constexpr int N = Layout::kElements;
  float branch[N];
  if (args.mask.active()) {
    args.mask.factors(seed, static_cast<std::uint64_t>(at), branch);
#pragma unroll
    for (int j = 0; j < N; ++j) branch[j] *= d[j];
  } else {
#pragma unroll
    for (int j = 0; j < N; ++j) branch[j] = d[j];
  }
#pragma unroll
  for (int j = 0; j < N; ++j) sums[j] += branch[j];
  if (args.dbranch) put(args.dbranch + at, branch, args.add_dbranch);
  if (args.dx) put(args.dx + at, d, args.add_dx);
}

// Some 20 warps per multiprocessor, each with four rows on their way, keep the memory busy.
template <class Layout>
inline constexpr int kBlocksEach = Layout::kThreads >= 20 * kWarp ? 1 : 20 * kWarp / Layout::kThreads;

// A block takes every gridDim-th group of rows and keeps its share of the column sums in registers.
template <class Layout>
__global__ void __launch_bounds__(Layout::kThreads, kBlocksEach<Layout>)
    add_norm_backward_kernel(Backward<typename Layout::T> args) {
  using T = typename Layout::T;
  constexpr int N = Layout::kElements, kDepth = RowQueue<Layout>::kDepth;
  __shared__ typename Layout::Meeting meeting;
  __shared__ RowQueue<Layout> queue;
  const std::uint64_t seed = args.mask.active() ? args.mask.read_seed() : 0;
  const float scale = 1.0f / args.width;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * Layout::kRows;
  const int column = Layout::column(0);
  const bool inside = column < args.width;
  float dweight[N] = {}, dbias[N] = {}, branch_sums[N] = {}, weight[N] = {};
  if (inside) load(args.weight + column, weight);
  std::int64_t row = blockIdx.x * static_cast<std::int64_t>(Layout::kRows) + Layout::row();
  for (int place = 0; place < kDepth; ++place) queue.order(args, row + place * step, column, place);
  float mean = 0, rstd = 0, next_mean = 0, next_rstd = 0;
  if (row < args.rows) next_mean = args.mean[row], next_rstd = args.rstd[row];
  for (int turn = 0, place = 0; row < args.rows; row += step, ++turn) {
    mean = next_mean, rstd = next_rstd;
    if (row + step < args.rows) next_mean = args.mean[row + step], next_rstd = args.rstd[row + step];
    __pipeline_wait_prior(kDepth - 1);
    float g[N], x[N];
    Pack<T, N> dsum;
    float2 sums = {0.0f, 0.0f};
    if (inside) {
      float dy[N];
      load(queue.dy[place][threadIdx.x].at, dy);
      load(queue.x[place][threadIdx.x].at, x);
      if (args.dsum) dsum = queue.dsum[place][threadIdx.x];
#pragma unroll
      for (int j = 0; j < N; ++j) {
        x[j] = (x[j] - mean) * rstd;
        dweight[j] += dy[j] * x[j];
        dbias[j] += dy[j];
        g[j] = dy[j] * weight[j];
        sums.x += g[j];
        sums.y += g[j] * x[j];
      }
    }
    sums = Layout::sums(sums, meeting, turn);
    queue.order(args, row + kDepth * step, column, place);
    place = place + 1 == kDepth ? 0 : place + 1;
    if (!inside) continue;
    sums.x *= scale, sums.y *= scale;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      g[j] = rstd * (g[j] - sums.x - x[j] * sums.y);
      if (args.dsum) g[j] += to_float(dsum.at[j]);
    }
    put_gradients<Layout>(args, seed, row * args.width + column, g, branch_sums);
  }
  if (!args.partial) return;
  if constexpr (Layout::kRows > 1) {  // the rows of a block were shared out to its warps: add them up in order
    __shared__ float rows[Layout::kRows - 1][kSums][N][kWarp];
    if (Layout::row() > 0) {
#pragma unroll
      for (int j = 0; j < N; ++j) {
        rows[Layout::row() - 1][0][j][Layout::lane()] = dweight[j];
        rows[Layout::row() - 1][1][j][Layout::lane()] = dbias[j];
        rows[Layout::row() - 1][2][j][Layout::lane()] = branch_sums[j];
      }
    }
    __syncthreads();
    if (Layout::row() > 0) return;
    for (int r = 0; r < Layout::kRows - 1; ++r)
#pragma unroll
      for (int j = 0; j < N; ++j) {
        dweight[j] += rows[r][0][j][Layout::lane()];
        dbias[j] += rows[r][1][j][Layout::lane()];
        branch_sums[j] += rows[r][2][j][Layout::lane()];
      }
  }
  if (!inside) return;
  float* partial = args.partial + static_cast<std::int64_t>(blockIdx.x) * kSums * args.width + column;
  store(partial, dweight);
  store(partial + args.width, dbias);
  store(partial + 2 * args.width, branch_sums);
}

// Any width and alignment; the column sums live in the partial sums themselves, each thread adding to its own columns.
constexpr int kWalkThreads = 256;

template <class T>
__global__ void __launch_bounds__(kWalkThreads) add_norm_backward_walk(Backward<T> args) {
  __shared__ float shared[kWalkThreads / kWarp];
  const std::uint64_t seed = args.mask.active() ? args.mask.read_seed() : 0;
  float* partial = args.partial ? args.partial + static_cast<std::int64_t>(blockIdx.x) * kSums * args.width : nullptr;
  if (partial)
    for (int c = threadIdx.x; c < args.width; c += kWalkThreads)
      partial[c] = partial[args.width + c] = partial[2 * args.width + c] = 0;
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
      if (partial) partial[2 * args.width + c] += branch[0];
      if (args.dbranch) put(args.dbranch + base + c, branch, args.add_dbranch);
      if (args.dx) put(args.dx + base + c, whole, args.add_dx);
    }
  }
}

}  // namespace
}  // namespace cuda

void CudaBackend::add_norm_backward(const AddNorm& args, const Tensor& dy, const Tensor& dsum, const Tensor& mean,
                                    const Tensor& rstd, const Grad& dx, const Grad& dbranch, const Grad& dweight,
                                    const Grad& dbias, const Grad& branch_sums) {
  using namespace cuda;
  if (dy.size() == 0) {
    for (const Grad* sums : {&dweight, &dbias, &branch_sums})
      if (*sums && !sums->accumulate) fill(sums->into, 0);
    return;
  }
  with_float(dy.dtype(), "add_norm_backward", [&](auto type) {
    using T = typename decltype(type)::type;
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
    // The number of blocks, and with it the order of the sums, depends on the size and the device alone.
    std::int64_t blocks = 0;
    const auto share_out = [&](std::int64_t rows_each, std::int64_t blocks_each) {
      blocks = std::min(multiprocessors_ * blocks_each, divide_up(dy.rows(), rows_each));
      const auto floats = static_cast<std::size_t>(blocks * kSums * dy.width());
      if (dweight || dbias || branch_sums) backward.partial = static_cast<float*>(scratch(floats * sizeof(float)));
      return static_cast<unsigned>(blocks);
    };
    const bool aligned = aligned16(dy) && aligned16(args.x) && aligned16(dsum) && aligned16(args.weight) &&
                         aligned16(dx.into) && aligned16(dbranch.into);
    const bool done = aligned && with_wide_layout<T>(dy.width(), [&](auto layout) {
                        using Layout = decltype(layout);
                        const unsigned grid = share_out(Layout::kRows, kBlocksEach<Layout>);
                        add_norm_backward_kernel<Layout><<<grid, Layout::kThreads, 0, stream()>>>(backward);
                      });
    if (!done) {
      const unsigned grid = share_out(1, 3);
      add_norm_backward_walk<T><<<grid, kWalkThreads, 0, stream()>>>(backward);
    }
    launch_check("add_norm_backward");
    const Partials partials = {
        .data = backward.partial, .chunks = blocks, .width = dy.width(), .stride = kSums * dy.width()};
    sum_partials(*this, partials, dweight, dbias, branch_sums);
  });
}

}  // namespace attend
