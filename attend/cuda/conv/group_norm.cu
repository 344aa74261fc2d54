// Group norm (Wu & He 2018) and batch norm (Ioffe & Szegedy 2015). Two sums for each picture, channel and chunk of
// places; then what they make of each group, chunks in order, so that it is the same every time; then one walk over the
// places.
#include <algorithm>

#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/column_sums.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kChunk = 64;  // places that one thread sums

template <class T>
struct Norm {
  const T *x, *weight, *bias;
  std::int64_t pictures, places, channels, groups, chunk, chunks;
  float eps;

  __device__ std::int64_t group(std::int64_t a, std::int64_t c) const { return a * groups + c / (channels / groups); }
  __device__ float weight_at(std::int64_t c) const { return weight ? to_float(weight[c]) : 1.0f; }
};

struct Running {
  float *mean = nullptr, *variance = nullptr;
  float momentum = 0;
};

// Σ(x - first) and Σ(x - first)², first being the picture's own: [A, chunks, 2, C].
template <class T>
__global__ void statistics_sums(Norm<T> norm, float* sums) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= norm.pictures * norm.channels * norm.chunks) return;
  const std::int64_t c = i % norm.channels, chunk = i / norm.channels % norm.chunks,
                     a = i / norm.channels / norm.chunks;
  const T* x = norm.x + a * norm.places * norm.channels + c;
  const float shift = to_float(x[0]);
  float first = 0, second = 0;
  const std::int64_t end = min((chunk + 1) * norm.chunk, norm.places);
  for (std::int64_t n = chunk * norm.chunk; n < end; ++n) {
    const float d = to_float(x[n * norm.channels]) - shift;
    first += d, second += d * d;
  }
  float* to = sums + (a * norm.chunks + chunk) * 2 * norm.channels + c;
  to[0] = first, to[norm.channels] = second;
}

// A thread per group of a picture, in f64: there are few of them.
template <class T>
__global__ void statistics_finish(Norm<T> norm, const float* sums, float* mean, float* rstd, Running running) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= norm.pictures * norm.groups) return;
  const std::int64_t a = i / norm.groups, g = i % norm.groups, D = norm.channels / norm.groups;
  const double places = static_cast<double>(norm.places);
  const T* shift = norm.x + a * norm.places * norm.channels;
  double count = 0, average = 0, squares = 0;  // channel by channel (Chan et al. 1979)
  for (std::int64_t c = g * D; c < (g + 1) * D; ++c) {
    double first = 0, second = 0;
    for (std::int64_t chunk = 0; chunk < norm.chunks; ++chunk) {
      const float* from = sums + (a * norm.chunks + chunk) * 2 * norm.channels + c;
      first += from[0], second += from[norm.channels];
    }
    const double own = to_float(shift[c]) + first / places, apart = own - average, sum = count + places;
    squares += second - first * first / places + apart * apart * count * places / sum;
    average += apart * places / sum;
    count = sum;
  }
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

template <class T>
__global__ void normalise(Norm<T> norm, const float* mean, const float* rstd, T* y, std::int64_t size) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= size) return;
  const std::int64_t c = i % norm.channels, group = norm.group(i / norm.channels / norm.places, c);
  const float bias = norm.bias ? to_float(norm.bias[c]) : 0.0f;
  y[i] = from_float<T>((to_float(norm.x[i]) - mean[group]) * rstd[group] * norm.weight_at(c) + bias);
}

// Σ dy · x̂ and Σ dy: [A, chunks, 2, C], so that a chunk is one row of both parameters' gradients.
template <class T>
__global__ void backward_sums(Norm<T> norm, const T* dy, const float* mean, const float* rstd, float* sums) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= norm.pictures * norm.channels * norm.chunks) return;
  const std::int64_t c = i % norm.channels, chunk = i / norm.channels % norm.chunks,
                     a = i / norm.channels / norm.chunks;
  const std::int64_t base = a * norm.places * norm.channels + c, group = norm.group(a, c);
  const float middle = mean[group], scale = rstd[group];
  float first = 0, second = 0;
  const std::int64_t end = min((chunk + 1) * norm.chunk, norm.places);
  for (std::int64_t n = chunk * norm.chunk; n < end; ++n) {
    const float d = to_float(dy[base + n * norm.channels]);
    first += d * (to_float(norm.x[base + n * norm.channels]) - middle) * scale, second += d;
  }
  float* to = sums + (a * norm.chunks + chunk) * 2 * norm.channels + c;
  to[0] = first, to[norm.channels] = second;
}

// The means of dy · weight · x̂ and of dy · weight over each group: [A, G, 2].
template <class T>
__global__ void backward_means(Norm<T> norm, const float* sums, float* means) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= norm.pictures * norm.groups) return;
  const std::int64_t a = i / norm.groups, g = i % norm.groups, D = norm.channels / norm.groups;
  double first = 0, second = 0;
  for (std::int64_t chunk = 0; chunk < norm.chunks; ++chunk)
    for (std::int64_t c = g * D; c < (g + 1) * D; ++c) {
      const float* from = sums + (a * norm.chunks + chunk) * 2 * norm.channels + c;
      first += from[0] * norm.weight_at(c), second += from[norm.channels] * norm.weight_at(c);
    }
  const double count = static_cast<double>(norm.places * D);
  means[2 * i] = static_cast<float>(first / count), means[2 * i + 1] = static_cast<float>(second / count);
}

template <class T>
__global__ void backward_kernel(Norm<T> norm, const T* dy, const float* mean, const float* rstd, const float* means,
                                T* dx, bool accumulate, std::int64_t size) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= size) return;
  const std::int64_t c = i % norm.channels, group = norm.group(i / norm.channels / norm.places, c);
  float d = to_float(dy[i]) * norm.weight_at(c);
  if (means) {  // statistics of this batch, which x moves too
    const float normal = (to_float(norm.x[i]) - mean[group]) * rstd[group];
    d -= means[2 * group + 1] + normal * means[2 * group];
  }
  d *= rstd[group];
  dx[i] = from_float<T>(accumulate ? to_float(dx[i]) + d : d);
}

template <class T>
Norm<T> norm_of(const GroupNorm& args) {
  const std::int64_t A = args.x.dim(0), N = args.x.dim(1), C = args.x.dim(2);
  // Longer chunks where there are many places, so that finishing stays short.
  const std::int64_t chunk = std::max(kChunk, divide_up(N, 512));
  return {pointer<T>(args.x),
          pointer<T>(args.weight),
          pointer<T>(args.bias),
          A,
          N,
          C,
          args.groups,
          chunk,
          divide_up(N, chunk),
          args.eps};
}

}  // namespace
}  // namespace cuda

void CudaBackend::group_norm(const GroupNorm& args, const Tensor& y, const Tensor& mean, const Tensor& rstd) {
  using namespace cuda;
  if (y.size() == 0) return;
  with_float(y.dtype(), "group_norm", [&](auto type) {
    using T = typename decltype(type)::type;
    const Norm<T> norm = norm_of<T>(args);
    if (args.frozen) {
      frozen_statistics<<<blocks_for(norm.channels, kThreads), kThreads, 0, stream()>>>(
          pointer<float>(args.running_mean), pointer<float>(args.running_variance), args.eps, norm.channels,
          pointer<float>(mean), pointer<float>(rstd));
    } else {
      const std::int64_t threads = norm.pictures * norm.chunks * norm.channels;
      auto* sums = static_cast<float*>(scratch(static_cast<std::size_t>(2 * threads) * sizeof(float)));
      statistics_sums<T><<<blocks_for(threads, kThreads), kThreads, 0, stream()>>>(norm, sums);
      const Running running{pointer<float>(args.running_mean), pointer<float>(args.running_variance), args.momentum};
      statistics_finish<T><<<blocks_for(norm.pictures * norm.groups, kThreads), kThreads, 0, stream()>>>(
          norm, sums, pointer<float>(mean), pointer<float>(rstd), running);
    }
    normalise<T><<<blocks_for(y.size(), kThreads), kThreads, 0, stream()>>>(
        norm, pointer<float>(mean), pointer<float>(rstd), pointer<T>(y), y.size());
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
  with_float(dy.dtype(), "group_norm_backward", [&](auto type) {
    using T = typename decltype(type)::type;
    const Norm<T> norm = norm_of<T>(args);
    const std::int64_t rows = norm.pictures * norm.chunks, threads = rows * norm.channels;
    const std::int64_t groups = norm.pictures * norm.groups;
    auto* sums = static_cast<float*>(scratch(static_cast<std::size_t>(2 * threads + 2 * groups) * sizeof(float)));
    float* means = sums + 2 * threads;
    backward_sums<T><<<blocks_for(threads, kThreads), kThreads, 0, stream()>>>(
        norm, pointer<T>(dy), pointer<float>(mean), pointer<float>(rstd), sums);
    launch_check("group_norm_backward sums");
    if (dweight || dbias)
      sum_partials(*this, {.data = sums, .chunks = rows, .width = norm.channels, .stride = 2 * norm.channels}, dweight,
                   dbias);
    if (!dx) return;
    if (!args.frozen) backward_means<T><<<blocks_for(groups, kThreads), kThreads, 0, stream()>>>(norm, sums, means);
    backward_kernel<T><<<blocks_for(dy.size(), kThreads), kThreads, 0, stream()>>>(
        norm, pointer<T>(dy), pointer<float>(mean), pointer<float>(rstd), args.frozen ? nullptr : means,
        pointer<T>(dx.into), dx.accumulate, dy.size());
  });
  launch_check("group_norm_backward");
}

}  // namespace attend
