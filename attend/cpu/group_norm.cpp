// Group norm (Wu & He 2018) and batch norm (Ioffe & Szegedy 2015): two sums per channel over all places of an image,
// what they make of each group, and one walk over the places. Sums are taken in f32 over a few rows and in f64 over
// those.
#include <algorithm>
#include <cmath>
#include <vector>

#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/elements.h"
#include "attend/cpu/parallel.h"

namespace attend {
namespace cpu {
namespace {

constexpr std::int64_t kBlock = 64;  // rows that are summed in f32

// Two sums for each image and channel: [A, 2, C] in `sums`, which has room for [A, chunks, 2, C].
// add(a, n, first, second, spare) adds place n of image a to both rows of sums; spare is one more row.
template <class Add>
void pair_sums(ThreadPool& pool, const Tensor& x, const Chunks& chunks, double* sums, const Add& add) {
  const std::int64_t A = x.dim(0), N = x.dim(1), C = x.dim(2), pair = 2 * C;
  const auto chunk_sums = [&](std::int64_t task) {
    const std::int64_t a = task / chunks.count, begin = task % chunks.count * chunks.rows;
    const std::int64_t end = std::min(N, begin + chunks.rows);
    double* to = sums + task * pair;
    std::fill(to, to + pair, 0.0);
    std::vector<float> block(static_cast<std::size_t>(pair)), spare(static_cast<std::size_t>(C));
    for (std::int64_t from = begin; from < end; from += kBlock) {
      std::fill(block.begin(), block.end(), 0.0f);
      for (std::int64_t n = from; n < std::min(end, from + kBlock); ++n)
        add(a, n, block.data(), block.data() + C, spare.data());
      for (std::int64_t c = 0; c < pair; ++c) to[c] += static_cast<double>(block[static_cast<std::size_t>(c)]);
    }
  };
  pool.run({ThreadPool::each(A * chunks.count, chunk_sums)});
  for (std::int64_t a = 0; a < A; ++a) {
    double* to = sums + a * pair;
    const double* from = sums + a * chunks.count * pair;
    for (std::int64_t c = 0; c < pair; ++c) {
      double sum = 0;
      for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) sum += from[chunk * pair + c];
      to[c] = sum;
    }
  }
}

double* doubles(float* memory) { return reinterpret_cast<double*>(memory); }

float at_or(const Tensor& x, std::int64_t i, float other) {
  if (!x.defined()) return other;
  return x.dtype() == DType::bf16 ? static_cast<float>(x.data<Bf16>()[i]) : x.data<float>()[i];
}

// The mean and rstd of each image and group from the sums of x - first and their squares, and the running ones.
template <class T>
void finish_statistics(const GroupNorm& args, const double* sums, const Tensor& mean, const Tensor& rstd) {
  const std::int64_t A = args.x.dim(0), N = args.x.dim(1), C = args.x.dim(2), D = C / args.groups;
  const auto places = static_cast<double>(N), count = places * static_cast<double>(D);
  for (std::int64_t a = 0; a < A; ++a)
    for (std::int64_t g = 0; g < args.groups; ++g) {
      const double *first = sums + a * 2 * C, *second = first + C;
      const T* shift = args.x.data<T>() + a * N * C;
      double total = 0, squares = 0;
      const auto mean_of = [&](std::int64_t c) {
        return static_cast<double>(static_cast<float>(shift[c])) + first[c] / places;
      };
      for (std::int64_t c = g * D; c < (g + 1) * D; ++c) total += mean_of(c) / static_cast<double>(D);
      for (std::int64_t c = g * D; c < (g + 1) * D; ++c)
        squares += second[c] - first[c] * first[c] / places + places * (mean_of(c) - total) * (mean_of(c) - total);
      const double variance = std::max(0.0, squares / count);
      mean.data<float>()[a * args.groups + g] = static_cast<float>(total);
      rstd.data<float>()[a * args.groups + g] =
          static_cast<float>(1 / std::sqrt(variance + static_cast<double>(args.eps)));
      if (!args.running_mean.defined()) continue;
      float &running = args.running_mean.data<float>()[g], &spread = args.running_variance.data<float>()[g];
      const double unbiased = variance * count / std::max(1.0, count - 1);
      running += args.momentum * (static_cast<float>(total) - running);
      spread += args.momentum * (static_cast<float>(unbiased) - spread);
    }
}

template <class T>
void statistics(const GroupNorm& args, ThreadPool& pool, const Chunks& chunks, double* sums, const Tensor& mean,
                const Tensor& rstd) {
  const std::int64_t N = args.x.dim(1), C = args.x.dim(2);
  if (args.frozen) {
    for (std::int64_t c = 0; c < C; ++c) {
      mean.data<float>()[c] = args.running_mean.data<float>()[c];
      rstd.data<float>()[c] = 1 / std::sqrt(args.running_variance.data<float>()[c] + args.eps);
    }
    return;
  }
  const T* x = args.x.data<T>();
  pair_sums(pool, args.x, chunks, sums, [&](std::int64_t a, std::int64_t n, float* first, float* second, float*) {
    const T *row = x + (a * N + n) * C, *shift = x + a * N * C;
    for (std::int64_t c = 0; c < C; ++c) {
      const float d = static_cast<float>(row[c]) - static_cast<float>(shift[c]);
      first[c] += d, second[c] += d * d;
    }
  });
  finish_statistics<T>(args, sums, mean, rstd);
}

// What a walk over the places of image a multiplies by, for each channel.
struct Factors {
  std::vector<float> mean, rstd, weight, bias;
  Factors(const GroupNorm& args, const Tensor& means, const Tensor& rstds, std::int64_t a) {
    const std::int64_t C = args.x.dim(2), D = C / args.groups;
    for (std::int64_t c = 0; c < C; ++c) {
      mean.push_back(means.data<float>()[a * args.groups + c / D]);
      rstd.push_back(rstds.data<float>()[a * args.groups + c / D]);
      weight.push_back(at_or(args.weight, c, 1));
      bias.push_back(at_or(args.bias, c, 0));
    }
  }
};

std::vector<Factors> factors_of(const GroupNorm& args, const Tensor& means, const Tensor& rstds) {
  std::vector<Factors> factors;
  for (std::int64_t a = 0; a < args.x.dim(0); ++a) factors.emplace_back(args, means, rstds, a);
  return factors;
}

// The norm of a row, before a residual and a relu.
template <class T>
void normalise(const Factors& by, const T* x, float* to) {
  const auto width = static_cast<std::int64_t>(by.mean.size());
  const float *m = by.mean.data(), *r = by.rstd.data(), *w = by.weight.data(), *b = by.bias.data();
  for (std::int64_t c = 0; c < width; ++c) to[c] = (static_cast<float>(x[c]) - m[c]) * r[c] * w[c] + b[c];
}

// The gradient behind the norm: dy, or what a relu lets through of it, by its result y or by the norm of x.
template <class T>
struct Incoming {
  const T *dy, *y = nullptr, *x = nullptr;

  void read(const Factors& by, std::int64_t row, float* to) const {
    const auto width = static_cast<std::int64_t>(by.mean.size());
    const T* d = dy + row * width;
    if (x) normalise(by, x + row * width, to);
    if (y)
      for (std::int64_t c = 0; c < width; ++c) to[c] = static_cast<float>(y[row * width + c]);
    if (x || y)
      for (std::int64_t c = 0; c < width; ++c) to[c] = to[c] > 0 ? static_cast<float>(d[c]) : 0;
    else
      for (std::int64_t c = 0; c < width; ++c) to[c] = static_cast<float>(d[c]);
  }
};

// dweight and dbias from the sums of dy · x̂ and dy of each image.
void parameter_gradient(const double* sums, std::int64_t images, std::int64_t stride, std::int64_t channels,
                        const Grad& to) {
  if (!to) return;
  with_element(to.into.dtype(), "group_norm", [&](auto element) {
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (std::int64_t a = 0; a < images; ++a) sum += sums[a * stride + c];
      const auto single = static_cast<float>(sum);
      put(&single, 1, to.into.data<decltype(element)>() + c, 1, to.accumulate);
    }
  });
}

// What every place of a group shares takes the place of the sums of its channels: the means of dy · weight, and of that
// times x̂. Constant statistics have no part in the gradient.
void means_of_groups(const GroupNorm& args, const std::vector<Factors>& factors, double* sums) {
  const std::int64_t N = args.x.dim(1), C = args.x.dim(2), D = C / args.groups;
  const double share = args.frozen ? 0 : 1 / static_cast<double>(N * D);
  for (const Factors& by : factors) {
    double *first = sums, *second = first + C;
    sums += 2 * C;
    for (std::int64_t begin = 0; begin < C; begin += D) {
      double one = 0, two = 0;
      for (std::int64_t c = begin; c < begin + D; ++c) {
        one += first[c] * static_cast<double>(by.weight[static_cast<std::size_t>(c)]);
        two += second[c] * static_cast<double>(by.weight[static_cast<std::size_t>(c)]);
      }
      for (std::int64_t c = begin; c < begin + D; ++c) first[c] = one * share, second[c] = two * share;
    }
  }
}

}  // namespace
}  // namespace cpu

void CpuBackend::group_norm(const GroupNorm& args, const Tensor& y, const Tensor& mean, const Tensor& rstd) {
  const std::int64_t A = args.x.dim(0), N = args.x.dim(1), C = args.x.dim(2);
  if (y.size() == 0) return;
  cpu::with_element(y.dtype(), "group_norm", [&](auto element) {
    using T = decltype(element);
    const cpu::Chunks chunks(N, C);
    double* sums = cpu::doubles(scratch(4 * A * chunks.count * C));
    cpu::statistics<T>(args, pool(), chunks, sums, mean, rstd);
    const std::vector<cpu::Factors> factors = cpu::factors_of(args, mean, rstd);
    const T *x = args.x.data<T>(), *more = args.residual.defined() ? args.residual.data<T>() : nullptr;
    T* to = y.data<T>();
    cpu::for_rows(pool(), A * N, C, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> out(static_cast<std::size_t>(C));
      for (std::int64_t row = begin; row < end; ++row) {
        cpu::normalise(factors[static_cast<std::size_t>(row / N)], x + row * C, out.data());
        if (more)
          for (std::int64_t c = 0; c < C; ++c)
            out[static_cast<std::size_t>(c)] += static_cast<float>(more[row * C + c]);
        if (args.relu)
          for (float& each : out) each = each < 0 ? 0 : each;  // NaN stays
        cpu::put(out.data(), 1, to + row * C, C, false);
      }
    });
  });
}

void CpuBackend::group_norm_backward(const GroupNorm& args, const Tensor& y, const Tensor& dy, const Tensor& mean,
                                     const Tensor& rstd, const Grad& dx, const Tensor& dsum, const Grad& dweight,
                                     const Grad& dbias) {
  const std::int64_t A = args.x.dim(0), N = args.x.dim(1), C = args.x.dim(2);
  const cpu::Chunks chunks(N, C);
  double* sums = cpu::doubles(scratch(4 * std::max<std::int64_t>(1, A * chunks.count) * std::max<std::int64_t>(1, C)));
  cpu::with_element(dy.dtype(), "group_norm", [&](auto element) {
    using T = decltype(element);
    const T* x = args.x.data<T>();
    T* sum_to = dsum.defined() ? dsum.data<T>() : nullptr;
    cpu::Incoming<T> incoming{.dy = dy.data<T>()};
    if (args.relu) (y.defined() ? incoming.y : incoming.x) = y.defined() ? y.data<T>() : x;
    const std::vector<cpu::Factors> factors = cpu::factors_of(args, mean, rstd);
    const auto add = [&](std::int64_t a, std::int64_t n, float* first, float* second, float* d) {
      const cpu::Factors& by = factors[static_cast<std::size_t>(a)];
      const std::int64_t place = a * N + n;
      const T* row = x + place * C;
      const float *m = by.mean.data(), *r = by.rstd.data();
      incoming.read(by, place, d);
      if (sum_to) cpu::put(d, 1, sum_to + place * C, C, false);
      for (std::int64_t c = 0; c < C; ++c)
        first[c] += d[c], second[c] += d[c] * (static_cast<float>(row[c]) - m[c]) * r[c];
    };
    cpu::pair_sums(pool(), args.x, chunks, sums, add);
    cpu::parameter_gradient(sums + C, A, 2 * C, C, dweight);
    cpu::parameter_gradient(sums, A, 2 * C, C, dbias);
    if (!dx || dx.into.size() == 0) return;
    cpu::means_of_groups(args, factors, sums);
    T* to = dx.into.data<T>();
    if (sum_to) incoming = {.dy = sum_to};
    cpu::for_rows(pool(), A * N, C, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> out(static_cast<std::size_t>(C));
      for (std::int64_t row = begin; row < end; ++row) {
        const cpu::Factors& by = factors[static_cast<std::size_t>(row / N)];
        const double *first = sums + row / N * 2 * C, *second = first + C;
        incoming.read(by, row, out.data());
        for (std::int64_t c = 0; c < C; ++c) {
          const auto i = static_cast<std::size_t>(c);
          const float normal = (static_cast<float>(x[row * C + c]) - by.mean[i]) * by.rstd[i];
          out[i] = by.rstd[i] *
                   (out[i] * by.weight[i] - static_cast<float>(first[c]) - normal * static_cast<float>(second[c]));
        }
        cpu::put(out.data(), 1, to + row * C, C, dx.accumulate);
      }
    });
  });
}

}  // namespace attend
