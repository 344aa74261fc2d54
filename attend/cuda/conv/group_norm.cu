// Group norm (Wu & He 2018) and batch norm (Ioffe & Szegedy 2015): two sums for each image and channel, what they make
// of each group, and one walk over the places that also adds a residual and ends with a relu.
#include "attend/cuda/conv/group_norm.cuh"

namespace attend {
namespace cuda {
namespace {

struct Running {
  float *mean = nullptr, *variance = nullptr;
  float momentum = 0;
};

// Σ(x - first) and Σ(x - first)², first being the image's own.
template <class T, int N>
__global__ void __launch_bounds__(kNormThreads) statistics_sums(Norm<T> norm, float* sums) {
  constexpr int kAtOnce = 4;
  const Seat<N> seat(norm);
  float shift[N] = {}, first[N] = {}, second[N] = {};
  if (seat.count > 0) load(norm.x + seat.at(norm, 0), shift);
  Raw<T, N> raw[kAtOnce];
  for_places<kAtOnce>(
      norm, seat, [&](int i, std::int64_t at) { raw[i] = raw_at<N>(norm.x + at); },
      [&](int i, std::int64_t) {
        float x[N];
        unpack(raw[i], x);
#pragma unroll
        for (int j = 0; j < N; ++j) {
          const float d = x[j] - shift[j];
          first[j] += d, second[j] += d * d;
        }
      });
  store_sums(norm, seat, first, second, sums);
}

// A warp per group of an image, in f64.
template <class T>
__global__ void statistics_finish(Norm<T> norm, const double* totals, float* mean, float* rstd, Running running) {
  const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(kNormThreads) + threadIdx.x) / 32;
  if (i >= norm.images * norm.groups) return;
  const std::int64_t a = i / norm.groups;
  const int g = static_cast<int>(i % norm.groups), lane = threadIdx.x % 32;
  const double places = static_cast<double>(norm.places), count = places * norm.each;
  const T* shift = norm.x + a * norm.places * norm.channels;
  const double *first = totals + a * 2 * norm.channels, *second = first + norm.channels;
  const auto mean_of = [&](int c) { return to_float(shift[c]) + first[c] / places; };
  double average = 0, squares = 0;
  for (int c = g * norm.each + lane; c < (g + 1) * norm.each; c += 32) average += mean_of(c) / norm.each;
  average = warp_sum(average);
  for (int c = g * norm.each + lane; c < (g + 1) * norm.each; c += 32) {
    const double apart = mean_of(c) - average;
    squares += second[c] - first[c] * first[c] / places + places * apart * apart;
  }
  const double variance = fmax(0.0, warp_sum(squares) / count);
  if (lane != 0) return;
  mean[i] = static_cast<float>(average);
  rstd[i] = static_cast<float>(1 / sqrt(variance + norm.eps));
  if (!running.mean) return;
  const float unbiased = static_cast<float>(variance * count / fmax(1.0, count - 1));
  running.mean[g] += running.momentum * (static_cast<float>(average) - running.mean[g]);
  running.variance[g] += running.momentum * (unbiased - running.variance[g]);
}

__global__ void frozen_statistics(const float* running_mean, const float* running_variance, float eps, int channels,
                                  float* mean, float* rstd) {
  const int c = blockIdx.x * kNormThreads + threadIdx.x;
  if (c >= channels) return;
  mean[c] = running_mean[c];
  rstd[c] = 1.0f / sqrtf(running_variance[c] + eps);
}

template <class T, int N, bool Residual>
__global__ void __launch_bounds__(kNormThreads, 4)
    normalise(Norm<T> norm, const T* residual, bool relu, const float* mean, const float* rstd, T* y) {
  constexpr int kAtOnce = Residual ? 2 : 4;
  const Seat<N> seat(norm);
  if (seat.count == 0) return;
  const Line<N> line(norm, seat, mean, rstd);
  Raw<T, N> raw_x[kAtOnce], raw_more[kAtOnce];
  for_places<kAtOnce>(
      norm, seat,
      [&](int i, std::int64_t at) {
        raw_x[i] = raw_at<N>(norm.x + at);
        if constexpr (Residual) raw_more[i] = raw_at<N>(residual + at);
      },
      [&](int i, std::int64_t at) {
        float x[N], more[N] = {};
        unpack(raw_x[i], x);
        if constexpr (Residual) unpack(raw_more[i], more);
#pragma unroll
        for (int j = 0; j < N; ++j) {
          x[j] = line(j, x[j] - line.middle[j]);
          if constexpr (Residual) x[j] += more[j];
          if (relu && x[j] < 0) x[j] = 0;  // NaN stays
        }
        store(y + at, x);
      });
}

}  // namespace
}  // namespace cuda

void CudaBackend::group_norm(const GroupNorm& args, const Tensor& y, const Tensor& mean, const Tensor& rstd) {
  using namespace cuda;
  if (y.size() == 0) return;
  const std::initializer_list<Tensor> touched = {args.x, args.weight, args.bias, args.residual, y};
  with_pack(y.dtype(), "group_norm", y.dim(2), touched, [&](auto type, auto pack) {
    using T = typename decltype(type)::type;
    constexpr int N = decltype(pack)::value;
    const Norm<T> norm = norm_of<T>(args, N);
    const dim3 grid = grid_of(norm, N);
    if (args.frozen) {
      frozen_statistics<<<blocks_for(norm.channels, kNormThreads), kNormThreads, 0, stream()>>>(
          pointer<float>(args.running_mean), pointer<float>(args.running_variance), args.eps, norm.channels,
          pointer<float>(mean), pointer<float>(rstd));
    } else {
      const Sums sums(*this, norm);
      statistics_sums<T, N><<<grid, kNormThreads, 0, stream()>>>(norm, sums.of_chunks);
      add_chunks(*this, norm, sums);
      const Running running{pointer<float>(args.running_mean), pointer<float>(args.running_variance), args.momentum};
      statistics_finish<T><<<blocks_for(norm.images * norm.groups * 32, kNormThreads), kNormThreads, 0, stream()>>>(
          norm, sums.totals, pointer<float>(mean), pointer<float>(rstd), running);
    }
    with_flag(args.residual.defined(), [&](auto residual) {
      normalise<T, N, decltype(residual)::value><<<grid, kNormThreads, 0, stream()>>>(
          norm, pointer<T>(args.residual), args.relu, pointer<float>(mean), pointer<float>(rstd), pointer<T>(y));
    });
  });
  launch_check("group_norm");
}

}  // namespace attend
