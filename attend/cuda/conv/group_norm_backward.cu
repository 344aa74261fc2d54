// Group norm backward: one walk over the places for two sums of each image and channel, what they make of each group,
// and one walk for dx. Where the statistics are constants, dx needs no sums, and the first walk writes it.
//
// The slope of a relu costs no memory of its own. It follows from the norm, which both walks compute again from the x
// that they read anyway, or, where a residual was added, from the result y. Then the first walk leaves dy · slope, the
// gradient of the residual, and the second one reads that instead of dy and y.
#include "attend/cuda/conv/group_norm.cuh"

namespace attend {
namespace cuda {
namespace {

// What tells the slope of the relu.
enum class Relu : std::uint8_t { none, by_norm, by_result };

// What the walks read and write, each as x.
template <class T>
struct Backward {
  const T *dy, *y;
  T *dsum, *dx;
  bool accumulate;
  const float *mean, *rstd;
};

// Σ dy · x̂ and Σ dy behind the relu, if sums are wanted: a chunk is one row of both parameters' gradients. With
// constant statistics (Frozen) also dx.
template <class T, int N, Relu R, bool Frozen>
__global__ void __launch_bounds__(kNormThreads, Frozen ? 2 : 3)
    backward_sums(Norm<T> norm, Backward<T> back, float* sums) {
  constexpr int kAtOnce = 2;
  const Seat<N> seat(norm);
  const Line<N> line(norm, seat, back.mean, back.rstd);
  float first[N] = {}, second[N] = {};
  Raw<T, N> raw_d[kAtOnce], raw_x[kAtOnce] = {}, raw_y[kAtOnce];
  for_places<kAtOnce>(
      norm, seat,
      [&](int i, std::int64_t at) {
        raw_d[i] = raw_at<N>(back.dy + at);
        if (R == Relu::by_norm || sums) raw_x[i] = raw_at<N>(norm.x + at);
        if constexpr (R == Relu::by_result) raw_y[i] = raw_at<N>(back.y + at);
      },
      [&](int i, std::int64_t at) {
        float d[N], x[N], y[N];
        unpack(raw_d[i], d), unpack(raw_x[i], x);
        if constexpr (R == Relu::by_result) unpack(raw_y[i], y);
#pragma unroll
        for (int j = 0; j < N; ++j) {
          const float centred = x[j] - line.middle[j];
          if constexpr (R == Relu::by_norm) y[j] = line(j, centred);
          if constexpr (R != Relu::none) d[j] = y[j] > 0 ? d[j] : 0;
          first[j] += d[j] * centred, second[j] += d[j];
        }
        if constexpr (R == Relu::by_result) store(back.dsum + at, d);
        if constexpr (Frozen) {
          float dx[N] = {};
          if (back.accumulate) load(back.dx + at, dx);
#pragma unroll
          for (int j = 0; j < N; ++j) dx[j] += d[j] * line.scale[j];
          store(back.dx + at, dx);
        }
      });
  if (!sums) return;
  if (seat.count > 0)
#pragma unroll
    for (int j = 0; j < N; ++j) first[j] *= back.rstd[norm.group(seat.a, seat.channel + j)];
  store_sums(norm, seat, first, second, sums);
}

// The gradient of weight or bias, [C], in f32 or as T.
template <class T>
struct Parameter {
  void* into;
  bool f32, accumulate;
  explicit Parameter(const Grad& grad)
      : into(pointer<void>(grad.into)), f32(grad && grad.into.dtype() == DType::f32), accumulate(grad.accumulate) {}
  __device__ void put(int c, double sum) const {
    if (f32)
      put_as(static_cast<float*>(into) + c, sum);
    else
      put_as(static_cast<T*>(into) + c, sum);
  }
  template <class As>
  __device__ void put_as(As* to, double sum) const {
    *to = from_float<As>(static_cast<float>(sum) + (accumulate ? to_float(*to) : 0.0f));
  }
};

// The gradients of the parameters, by a warp for each channel; and if means are wanted, those of dy · weight · x̂ and of
// dy · weight over each group, by a warp for each: [A, G, 2].
template <class T>
__global__ void backward_finish(Norm<T> norm, const double* totals, Parameter<T> dweight, Parameter<T> dbias,
                                float* means) {
  const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(kNormThreads) + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (i < norm.channels && (dweight.into || dbias.into)) {
    const int c = static_cast<int>(i);
    double first = 0, second = 0;
    for (std::int64_t a = lane; a < norm.images; a += 32)
      first += totals[a * 2 * norm.channels + c], second += totals[(a * 2 + 1) * norm.channels + c];
    first = warp_sum(first), second = warp_sum(second);
    if (lane == 0 && dweight.into) dweight.put(c, first);
    if (lane == 0 && dbias.into) dbias.put(c, second);
  }
  if (!means || i >= norm.images * norm.groups) return;
  const int g = static_cast<int>(i % norm.groups);
  const double* of_image = totals + i / norm.groups * 2 * norm.channels;
  double first = 0, second = 0;
  for (int c = g * norm.each + lane; c < (g + 1) * norm.each; c += 32)
    first += of_image[c] * norm.weight_at(c), second += of_image[norm.channels + c] * norm.weight_at(c);
  first = warp_sum(first), second = warp_sum(second);
  if (lane != 0) return;
  const double count = static_cast<double>(norm.places) * norm.each;
  means[2 * i] = static_cast<float>(first / count), means[2 * i + 1] = static_cast<float>(second / count);
}

// dx = rstd · (dy · weight - mean of that - x̂ · mean of that times x̂)
template <class T, int N, bool ByNorm>
__global__ void __launch_bounds__(kNormThreads, 3) backward_kernel(Norm<T> norm, Backward<T> back, const float* means) {
  constexpr int kAtOnce = 2;
  const Seat<N> seat(norm);
  if (seat.count == 0) return;
  const Line<N> line(norm, seat, back.mean, back.rstd);
  float slope[N], level[N];
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const std::int64_t group = norm.group(seat.a, seat.channel + j);
    const float rstd = back.rstd[group];
    slope[j] = -rstd * rstd * means[2 * group], level[j] = -rstd * means[2 * group + 1];
  }
  Raw<T, N> raw_d[kAtOnce], raw_x[kAtOnce];
  for_places<kAtOnce>(
      norm, seat,
      [&](int i, std::int64_t at) { raw_d[i] = raw_at<N>(back.dy + at), raw_x[i] = raw_at<N>(norm.x + at); },
      [&](int i, std::int64_t at) {
        float d[N], x[N], dx[N] = {};
        unpack(raw_d[i], d), unpack(raw_x[i], x);
        if (back.accumulate) load(back.dx + at, dx);
#pragma unroll
        for (int j = 0; j < N; ++j) {
          const float centred = x[j] - line.middle[j];
          if constexpr (ByNorm) d[j] = line(j, centred) > 0 ? d[j] : 0;
          dx[j] += fmaf(d[j], line.scale[j], fmaf(centred, slope[j], level[j]));
        }
        store(back.dx + at, dx);
      });
}

// body(how), as a constant.
template <class Body>
void with_relu(Relu how, Body&& body) {
  if (how == Relu::none)
    body(std::integral_constant<Relu, Relu::none>{});
  else if (how == Relu::by_norm)
    body(std::integral_constant<Relu, Relu::by_norm>{});
  else
    body(std::integral_constant<Relu, Relu::by_result>{});
}

}  // namespace
}  // namespace cuda

void CudaBackend::group_norm_backward(const GroupNorm& args, const Tensor& y, const Tensor& dy, const Tensor& mean,
                                      const Tensor& rstd, const Grad& dx, const Tensor& dsum, const Grad& dweight,
                                      const Grad& dbias) {
  using namespace cuda;
  if (dy.size() == 0) {
    for (const Grad& each : {dweight, dbias})
      if (each && !each.accumulate) fill(each.into, 0);
    return;
  }
  const Relu relu = !args.relu ? Relu::none : y.defined() ? Relu::by_result : Relu::by_norm;
  const bool at_once = dx && args.frozen, then_dx = dx && !args.frozen, parameters = dweight || dbias;
  const std::initializer_list<Tensor> touched = {args.x, args.weight, args.bias, y, dy, dx.into, dsum};
  with_pack(dy.dtype(), "group_norm_backward", dy.dim(2), touched, [&](auto type, auto pack) {
    using T = typename decltype(type)::type;
    constexpr int N = decltype(pack)::value;
    const Norm<T> norm = norm_of<T>(args, N);
    const dim3 grid = grid_of(norm, N);
    Backward<T> back{.dy = pointer<T>(dy),
                     .y = pointer<T>(y),
                     .dsum = pointer<T>(dsum),
                     .dx = pointer<T>(dx.into),
                     .accumulate = dx.accumulate,
                     .mean = pointer<float>(mean),
                     .rstd = pointer<float>(rstd)};
    const bool summed = parameters || then_dx;
    const Sums sums(*this, norm);
    if (summed || at_once || dsum.defined())
      with_relu(relu, [&](auto how) {
        with_flag(at_once, [&](auto frozen) {
          backward_sums<T, N, decltype(how)::value, decltype(frozen)::value>
              <<<grid, kNormThreads, 0, stream()>>>(norm, back, summed ? sums.of_chunks : nullptr);
        });
      });
    launch_check("group_norm_backward sums");
    if (!summed) return;
    add_chunks(*this, norm, sums);
    const std::int64_t warps = std::max<std::int64_t>(norm.channels, norm.images * norm.groups);
    backward_finish<T><<<blocks_for(warps * 32, kNormThreads), kNormThreads, 0, stream()>>>(
        norm, sums.totals, Parameter<T>(dweight), Parameter<T>(dbias), then_dx ? sums.means : nullptr);
    if (!then_dx) return;
    if (dsum.defined()) back.dy = back.dsum;
    with_flag(relu == Relu::by_norm, [&](auto by_norm) {
      backward_kernel<T, N, decltype(by_norm)::value><<<grid, kNormThreads, 0, stream()>>>(norm, back, sums.means);
    });
  });
  launch_check("group_norm_backward");
}

}  // namespace attend
