// Group norm (Wu & He 2018) and batch norm (Ioffe & Szegedy 2015). Two sums for each image, channel and chunk of
// places; then what they make of each group, chunks in order, so that it is the same every time; then one walk over the
// places. A thread keeps to its channels, 16 bytes of them where they are aligned, and goes down the places of a chunk.
#include <algorithm>
#include <type_traits>

#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/column_sums.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 256, kMostColumns = 64;
constexpr std::int64_t kBlocks = 2112;  // sixteen for each unit of an H200

template <class T>
struct Norm {
  const T *x, *weight, *bias;
  std::int64_t images, places, channels, groups, chunk, chunks;
  float eps;
  int columns;  // of threads in a block; the rest of them are rows

  __device__ std::int64_t group(std::int64_t a, std::int64_t c) const { return a * groups + c / (channels / groups); }
  __device__ float weight_at(std::int64_t c) const { return weight ? to_float(weight[c]) : 1.0f; }
  __device__ float bias_at(std::int64_t c) const { return bias ? to_float(bias[c]) : 0.0f; }
};

struct Running {
  float *mean = nullptr, *variance = nullptr;
  float momentum = 0;
};

// The channels of a thread, and its places: from begin on, `rows` apart.
template <int N>
struct Seat {
  std::int64_t a, channel, begin, end;
  int rows;
  template <class T>
  __device__ explicit Seat(const Norm<T>& norm)
      : a(blockIdx.x / norm.chunks),
        channel((static_cast<std::int64_t>(blockIdx.y) * norm.columns + threadIdx.x % norm.columns) * N),
        begin(blockIdx.x % norm.chunks * norm.chunk + threadIdx.x / norm.columns),
        end(min((blockIdx.x % norm.chunks + 1) * norm.chunk, norm.places)),
        rows(kThreads / norm.columns) {
    if (channel >= norm.channels) end = begin;
  }
  template <class T>
  __device__ std::int64_t at(const Norm<T>& norm, std::int64_t place) const {
    return (a * norm.places + place) * norm.channels + channel;
  }
};

// Sums of all rows of the block, left in those of its first row and stored in sums [A, chunks, 2, C].
template <class T, int N>
__device__ void store_sums(const Norm<T>& norm, const Seat<N>& seat, const float (&first)[N], const float (&second)[N],
                           float* sums) {
  __shared__ float shared[2 * N][kThreads];
#pragma unroll
  for (int j = 0; j < N; ++j) shared[j][threadIdx.x] = first[j], shared[N + j][threadIdx.x] = second[j];
  for (int half = seat.rows / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x / norm.columns < half)
#pragma unroll
      for (int j = 0; j < 2 * N; ++j) shared[j][threadIdx.x] += shared[j][threadIdx.x + half * norm.columns];
  }
  if (threadIdx.x >= norm.columns || seat.channel >= norm.channels) return;
  float* to = sums + static_cast<std::int64_t>(blockIdx.x) * 2 * norm.channels + seat.channel;
#pragma unroll
  for (int j = 0; j < N; ++j) to[j] = shared[j][threadIdx.x], to[norm.channels + j] = shared[N + j][threadIdx.x];
}

// Σ(x - first) and Σ(x - first)², first being the image's own.
template <class T, int N>
__global__ void __launch_bounds__(kThreads) statistics_sums(Norm<T> norm, float* sums) {
  const Seat<N> seat(norm);
  float shift[N] = {}, first[N] = {}, second[N] = {};
  if (seat.begin < seat.end) load(norm.x + seat.at(norm, 0), shift);
#pragma unroll 4
  for (std::int64_t n = seat.begin; n < seat.end; n += seat.rows) {
    float x[N];
    load(norm.x + seat.at(norm, n), x);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const float d = x[j] - shift[j];
      first[j] += d, second[j] += d * d;
    }
  }
  store_sums(norm, seat, first, second, sums);
}

__device__ __forceinline__ double warp_sum(double x) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) x += __shfl_xor_sync(0xffffffffu, x, apart);
  return x;
}

// Both sums of channel c of image a over all chunks, by a warp.
template <class T>
__device__ double2 sums_of(const Norm<T>& norm, const float* sums, std::int64_t a, std::int64_t c) {
  double first = 0, second = 0;
  for (std::int64_t chunk = threadIdx.x % 32; chunk < norm.chunks; chunk += 32) {
    const float* from = sums + (a * norm.chunks + chunk) * 2 * norm.channels + c;
    first += from[0], second += from[norm.channels];
  }
  return make_double2(warp_sum(first), warp_sum(second));
}

// A warp per group of an image, in f64: there are few of them.
template <class T>
__global__ void statistics_finish(Norm<T> norm, const float* sums, float* mean, float* rstd, Running running) {
  const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x) / 32;
  if (i >= norm.images * norm.groups) return;
  const std::int64_t a = i / norm.groups, g = i % norm.groups, D = norm.channels / norm.groups;
  const double places = static_cast<double>(norm.places);
  const T* shift = norm.x + a * norm.places * norm.channels;
  double count = 0, average = 0, squares = 0;  // channel by channel (Chan et al. 1979)
  for (std::int64_t c = g * D; c < (g + 1) * D; ++c) {
    const double2 of = sums_of(norm, sums, a, c);
    const double own = to_float(shift[c]) + of.x / places, apart = own - average, sum = count + places;
    squares += of.y - of.x * of.x / places + apart * apart * count * places / sum;
    average += apart * places / sum;
    count = sum;
  }
  if (threadIdx.x % 32 != 0) return;
  const double variance = fmax(0.0, squares / count);
  mean[i] = static_cast<float>(average);
  rstd[i] = static_cast<float>(1 / sqrt(variance + norm.eps));
  if (!running.mean) return;
  const float unbiased = static_cast<float>(variance * count / fmax(1.0, count - 1));
  running.mean[g] += running.momentum * (static_cast<float>(average) - running.mean[g]);
  running.variance[g] += running.momentum * (unbiased - running.variance[g]);
}

__global__ void frozen_statistics(const float* running_mean, const float* running_variance, float eps,
                                  std::int64_t channels, float* mean, float* rstd) {
  const std::int64_t c = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (c >= channels) return;
  mean[c] = running_mean[c];
  rstd[c] = 1.0f / sqrtf(running_variance[c] + eps);
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads) normalise(Norm<T> norm, const float* mean, const float* rstd, T* y) {
  const Seat<N> seat(norm);
  if (seat.begin >= seat.end) return;
  float middle[N], scale[N], bias[N];
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const std::int64_t c = seat.channel + j, group = norm.group(seat.a, c);
    middle[j] = mean[group], scale[j] = rstd[group] * norm.weight_at(c), bias[j] = norm.bias_at(c);
  }
#pragma unroll 4
  for (std::int64_t n = seat.begin; n < seat.end; n += seat.rows) {
    float x[N];
    load(norm.x + seat.at(norm, n), x);
#pragma unroll
    for (int j = 0; j < N; ++j) x[j] = (x[j] - middle[j]) * scale[j] + bias[j];
    store(y + seat.at(norm, n), x);
  }
}

// Σ dy · x̂ and Σ dy: a chunk is one row of both parameters' gradients.
template <class T, int N>
__global__ void __launch_bounds__(kThreads)
    backward_sums(Norm<T> norm, const T* dy, const float* mean, const float* rstd, float* sums) {
  const Seat<N> seat(norm);
  float middle[N] = {}, scale[N] = {}, first[N] = {}, second[N] = {};
  if (seat.begin < seat.end)
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const std::int64_t group = norm.group(seat.a, seat.channel + j);
      middle[j] = mean[group], scale[j] = rstd[group];
    }
#pragma unroll 2
  for (std::int64_t n = seat.begin; n < seat.end; n += seat.rows) {
    float x[N], d[N];
    load(norm.x + seat.at(norm, n), x);
    load(dy + seat.at(norm, n), d);
#pragma unroll
    for (int j = 0; j < N; ++j) first[j] += d[j] * (x[j] - middle[j]) * scale[j], second[j] += d[j];
  }
  store_sums(norm, seat, first, second, sums);
}

// The means of dy · weight · x̂ and of dy · weight over each group, by a warp: [A, G, 2].
template <class T>
__global__ void backward_means(Norm<T> norm, const float* sums, float* means) {
  const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x) / 32;
  if (i >= norm.images * norm.groups) return;
  const std::int64_t a = i / norm.groups, g = i % norm.groups, D = norm.channels / norm.groups;
  double first = 0, second = 0;
  for (std::int64_t c = g * D; c < (g + 1) * D; ++c) {
    const double2 of = sums_of(norm, sums, a, c);
    first += of.x * norm.weight_at(c), second += of.y * norm.weight_at(c);
  }
  if (threadIdx.x % 32 != 0) return;
  const double count = static_cast<double>(norm.places * D);
  means[2 * i] = static_cast<float>(first / count), means[2 * i + 1] = static_cast<float>(second / count);
}

// means null: the statistics are constants.
template <class T, int N>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(Norm<T> norm, const T* dy, const float* mean, const float* rstd, const float* means, T* dx,
                    bool accumulate) {
  const Seat<N> seat(norm);
  if (seat.begin >= seat.end) return;
  float middle[N], scale[N], weight[N], slope[N], level[N];
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const std::int64_t c = seat.channel + j, group = norm.group(seat.a, c);
    middle[j] = mean[group], scale[j] = rstd[group], weight[j] = norm.weight_at(c);
    slope[j] = means ? means[2 * group] : 0.0f, level[j] = means ? means[2 * group + 1] : 0.0f;
  }
#pragma unroll 2
  for (std::int64_t n = seat.begin; n < seat.end; n += seat.rows) {
    float x[N] = {}, d[N], before[N] = {};
    load(dy + seat.at(norm, n), d);
    if (means) load(norm.x + seat.at(norm, n), x);
    if (accumulate) load(dx + seat.at(norm, n), before);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const float normal = (x[j] - middle[j]) * scale[j];
      d[j] = before[j] + (d[j] * weight[j] - (means ? level[j] + normal * slope[j] : 0.0f)) * scale[j];
    }
    store(dx + seat.at(norm, n), d);
  }
}

template <class T>
Norm<T> norm_of(const GroupNorm& args, int pack) {
  const std::int64_t A = args.x.dim(0), N = args.x.dim(1), C = args.x.dim(2), packs = C / pack;
  int columns = 1;
  while (columns < packs && columns < kMostColumns) columns *= 2;
  const std::int64_t across = A * divide_up(packs, columns), rows = kThreads / columns;
  // As many chunks as fill the device, of at least four places for each thread.
  const std::int64_t chunks =
      std::clamp<std::int64_t>(divide_up(kBlocks, across), 1, std::max<std::int64_t>(1, divide_up(N, 4 * rows)));
  const std::int64_t chunk = divide_up(N, chunks);
  return {pointer<T>(args.x),
          pointer<T>(args.weight),
          pointer<T>(args.bias),
          A,
          N,
          C,
          args.groups,
          chunk,
          divide_up(N, chunk),
          args.eps,
          columns};
}

template <class T>
dim3 grid_of(const Norm<T>& norm, int pack) {
  return dim3(blocks_for(norm.images * norm.chunks, 1),
              static_cast<unsigned>(divide_up(norm.channels / pack, norm.columns)));
}

// body(type, pack): 16 bytes at a time where all of these allow it.
template <class Body>
void with_pack(DType dtype, const char* op, std::int64_t channels, std::initializer_list<Tensor> read, Body&& body) {
  const bool aligned = std::all_of(read.begin(), read.end(), [](const Tensor& x) { return aligned16(x); });
  with_float(dtype, op, [&](auto type) {
    constexpr int kMost = kPack<typename decltype(type)::type>;
    if (aligned && channels % kMost == 0)
      body(type, std::integral_constant<int, kMost>{});
    else
      body(type, std::integral_constant<int, 1>{});
  });
}

}  // namespace
}  // namespace cuda

void CudaBackend::group_norm(const GroupNorm& args, const Tensor& y, const Tensor& mean, const Tensor& rstd) {
  using namespace cuda;
  if (y.size() == 0) return;
  with_pack(y.dtype(), "group_norm", y.dim(2), {args.x, y}, [&](auto type, auto pack) {
    using T = typename decltype(type)::type;
    constexpr int N = decltype(pack)::value;
    const Norm<T> norm = norm_of<T>(args, N);
    const dim3 grid = grid_of(norm, N);
    if (args.frozen) {
      frozen_statistics<<<blocks_for(norm.channels, kThreads), kThreads, 0, stream()>>>(
          pointer<float>(args.running_mean), pointer<float>(args.running_variance), args.eps, norm.channels,
          pointer<float>(mean), pointer<float>(rstd));
    } else {
      const std::int64_t size = norm.images * norm.chunks * norm.channels * 2;
      auto* sums = static_cast<float*>(scratch(static_cast<std::size_t>(size) * sizeof(float)));
      statistics_sums<T, N><<<grid, kThreads, 0, stream()>>>(norm, sums);
      const Running running{pointer<float>(args.running_mean), pointer<float>(args.running_variance), args.momentum};
      statistics_finish<T><<<blocks_for(norm.images * norm.groups * 32, kThreads), kThreads, 0, stream()>>>(
          norm, sums, pointer<float>(mean), pointer<float>(rstd), running);
    }
    normalise<T, N><<<grid, kThreads, 0, stream()>>>(norm, pointer<float>(mean), pointer<float>(rstd), pointer<T>(y));
  });
  launch_check("group_norm");
}

void CudaBackend::group_norm_backward(const GroupNorm& args, const Tensor& dy, const Tensor& mean, const Tensor& rstd,
                                      const Grad& dx, const Grad& dweight, const Grad& dbias) {
  using namespace cuda;
  if (dy.size() == 0) {
    for (const Grad& each : {dweight, dbias})
      if (each && !each.accumulate) fill(each.into, 0);
    return;
  }
  with_pack(dy.dtype(), "group_norm_backward", dy.dim(2), {args.x, dy, dx.into}, [&](auto type, auto pack) {
    using T = typename decltype(type)::type;
    constexpr int N = decltype(pack)::value;
    const Norm<T> norm = norm_of<T>(args, N);
    const dim3 grid = grid_of(norm, N);
    const std::int64_t rows = norm.images * norm.chunks, size = 2 * rows * norm.channels;
    const std::int64_t groups = norm.images * norm.groups;
    auto* sums = static_cast<float*>(scratch(static_cast<std::size_t>(size + 2 * groups) * sizeof(float)));
    float* means = sums + size;
    if (dweight || dbias || (dx && !args.frozen))
      backward_sums<T, N>
          <<<grid, kThreads, 0, stream()>>>(norm, pointer<T>(dy), pointer<float>(mean), pointer<float>(rstd), sums);
    launch_check("group_norm_backward sums");
    if (dweight || dbias)
      sum_partials(*this, {.data = sums, .chunks = rows, .width = norm.channels, .stride = 2 * norm.channels}, dweight,
                   dbias);
    if (!dx) return;
    if (!args.frozen)
      backward_means<T><<<blocks_for(groups * 32, kThreads), kThreads, 0, stream()>>>(norm, sums, means);
    backward_kernel<T, N><<<grid, kThreads, 0, stream()>>>(norm, pointer<T>(dy), pointer<float>(mean),
                                                           pointer<float>(rstd), args.frozen ? nullptr : means,
                                                           pointer<T>(dx.into), dx.accumulate);
  });
  launch_check("group_norm_backward");
}

}  // namespace attend
