// The CPU's row loops against plain double-precision loops: functions over their whole range, random words against
// the scalar generator, and every result the same for any number of threads. The op cases in tests/ops have the rest.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "attend/base/random.h"
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/rows/kernels.h"

namespace attend {
namespace {

CpuBackend& backend() {
  static CpuBackend cpu({.threads = 2});
  return cpu;
}

Tensor tensor_of(const std::vector<float>& values, const Shape& shape, DType dtype = DType::f32) {
  Tensor x = make_tensor(backend(), shape, dtype);
  upload(x, values);
  return x;
}

double gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double exact(Activation kind, double x) {
  switch (kind) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::gelu:
      return gelu(x);
    case Activation::gelu_tanh:
      return gelu_tanh(x);
    case Activation::silu:
      return x * sigmoid(x);
    case Activation::tanh:
      return std::tanh(x);
    case Activation::sigmoid:
      return sigmoid(x);
    case Activation::leaky_relu:
      return x > 0 ? x : static_cast<double>(kLeakySlope) * x;
  }
  return 0;
}

TEST(Rows, ActivationsAndSlopesOverTheirRange) {
  std::vector<float> x;
  for (int i = -12000; i <= 12003; ++i) x.push_back(static_cast<float>(i) * 1e-3f);
  for (float tiny : {1e-4f, -1e-4f, 3e-6f, 0.0f, 30.0f, -30.0f}) x.push_back(tiny);
  const auto n = static_cast<std::int64_t>(x.size());
  Tensor in = tensor_of(x, {n}), y = like(in), ones = like(in), dx = like(in);
  backend().fill(ones, 1.0f);
  for (Activation kind : {Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu,
                          Activation::tanh, Activation::sigmoid, Activation::leaky_relu}) {
    backend().activation(in, kind, y);
    backend().activation_backward(ones, in, kind, {dx}, {});
    for (std::int64_t i = 0; i < n; ++i) {
      const double v = x[i], want = exact(kind, v), h = 1e-4;
      EXPECT_NEAR(y.data<float>()[i], want, 2e-6 * std::fabs(want) + 1e-9) << name_of(kind) << " of " << v;
      const bool bends = kind == Activation::relu || kind == Activation::leaky_relu;
      if (bends && std::fabs(v) <= h) continue;
      const double slope = (exact(kind, v + h) - exact(kind, v - h)) / (2 * h);
      EXPECT_NEAR(dx.data<float>()[i], slope, 2e-6) << name_of(kind) << "' of " << v;
    }
  }
}

TEST(Rows, NotANumberAndInfinitySurvive) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  Tensor x = tensor_of({nan, inf, -inf, 1, 2}, {5}), y = like(x), half = like(x, {5}, DType::bf16), back = like(x);
  backend().activation(x, Activation::sigmoid, y);
  EXPECT_TRUE(std::isnan(y.data<float>()[0]));
  EXPECT_EQ(y.data<float>()[1], 1.0f);
  EXPECT_LT(y.data<float>()[2], 1e-37f);
  backend().scale(x, 1.0f, {half});
  backend().scale(half, 1.0f, {back});
  EXPECT_TRUE(std::isnan(back.data<float>()[0]));
  EXPECT_EQ(back.data<float>()[1], inf);
  EXPECT_EQ(back.data<float>()[2], -inf);
}

TEST(Rows, Bf16RoundsToNearestEven) {
  std::vector<float> x;
  for (std::uint32_t i = 0; i < 3000; ++i) x.push_back(static_cast<float>(random_word(1, 2, i)) * 1e-7f - 200.0f);
  const auto n = static_cast<std::int64_t>(x.size());
  Tensor in = tensor_of(x, {n}), half = like(in, {n}, DType::bf16);
  backend().scale(in, 1.0f, {half});
  for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(half.data<Bf16>()[i].bits, Bf16(x[i]).bits);
}

TEST(Rows, RandomNumbersAreThoseOfTheGenerator) {
  for (std::int64_t n : {1, 7, 64, 1000, 40001}) {
    Tensor x = make_tensor(backend(), {n}, DType::f32);
    backend().random(x,
                     {.kind = RandomFill::uniform, .low_or_mean = -1, .high_or_deviation = 3, .seed = 77, .stream = 5});
    for (std::int64_t i = 0; i < n; ++i)
      ASSERT_NEAR(x.data<float>()[i], -1 + 4 * to_unit(random_word(77, 5, i)), 1e-6) << i;
    backend().random(x, {.kind = RandomFill::normal, .low_or_mean = 2, .high_or_deviation = 3, .seed = 1, .stream = 9});
    for (std::int64_t i = 0; i < n; ++i) {
      const double u = 1 - to_unit(random_word(1, 9, i & ~1ll)), angle = 2 * M_PI * to_unit(random_word(1, 9, i | 1));
      const double want = 2 + 3 * std::sqrt(-2 * std::log(u)) * (i & 1 ? std::sin(angle) : std::cos(angle));
      ASSERT_NEAR(x.data<float>()[i], want, 5e-6) << i;
    }
    const std::uint32_t seed[2] = {123, 456};
    Tensor y = like(x);
    backend().dropout(x, {.rate = 0.3f, .seed = seed, .stream = 4}, {y});
    for (std::int64_t i = 0; i < n; ++i) {
      const bool drop = dropout_draw(123 + (456ull << 32), 4, i) < dropout_threshold(0.3f);
      ASSERT_EQ(y.data<float>()[i], drop ? 0.0f : x.data<float>()[i] * dropout_scale(0.3f)) << i;
    }
  }
}

TEST(Rows, TransposesAndPermutations) {
  const std::int64_t A = 3, B = 37, C = 50;
  std::vector<float> x(A * B * C);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  Tensor in = tensor_of(x, {A, B, C}), y = like(in, {A, C, B});
  backend().strided_copy({in, 0, {B * C, 1, C}}, {y, 0, {B * C, B, 1}}, {A, C, B}, false);
  for (std::int64_t a = 0; a < A; ++a)
    for (std::int64_t b = 0; b < B; ++b)
      for (std::int64_t c = 0; c < C; ++c) ASSERT_EQ(y.data<float>()[(a * C + c) * B + b], x[(a * B + b) * C + c]);
  // [A, B, C] -> [B, A, C], added twice.
  Tensor z = like(in, {B, A, C});
  for (bool accumulate : {false, true})
    backend().strided_copy({in, 0, {C, B * C, 1}}, {z, 0, {A * C, C, 1}}, {B, A, C}, accumulate);
  for (std::int64_t a = 0; a < A; ++a)
    for (std::int64_t b = 0; b < B; ++b)
      for (std::int64_t c = 0; c < C; ++c) ASSERT_EQ(z.data<float>()[(b * A + a) * C + c], 2 * x[(a * B + b) * C + c]);
}

TEST(Rows, CrossEntropyOfLongRows) {
  const std::int64_t rows = 5, V = 5003;
  std::vector<float> x(rows * V);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = 8 * to_unit(random_word(3, 3, i)) + static_cast<float>(i % V) * 1e-3f;
  Tensor logits = tensor_of(x, {rows, V}), targets = make_tensor(backend(), {rows}, DType::i32);
  upload(targets, std::vector<std::int32_t>{0, 5002, -1, 17, 2500});
  Tensor losses = like(logits, {rows}), lse = like(logits, {rows}), total = like(logits, {2}),
         dloss = like(logits, {1});
  backend().fill(dloss, 1.0f);
  const float smoothing = 0.1f;
  backend().cross_entropy(logits, targets, {}, smoothing, -1, losses, lse, total);
  Tensor d = like(logits);
  backend().cross_entropy_backward(dloss, logits, targets, {}, smoothing, -1, lse, total, {d});
  double mean = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int32_t target = targets.data<std::int32_t>()[r];
    double sum = 0, plain = 0;
    for (std::int64_t j = 0; j < V; ++j) sum += std::exp(static_cast<double>(x[r * V + j])), plain += x[r * V + j];
    for (std::int64_t j = 0; j < V; ++j) {
      const double want = target < 0 ? 0
                                     : (std::exp(static_cast<double>(x[r * V + j])) / sum - smoothing / V -
                                        (j == target) * (1.0 - smoothing)) /
                                           4;
      ASSERT_NEAR(d.data<float>()[r * V + j], want, 1e-6);
    }
    if (target < 0) continue;
    mean += (std::log(sum) - (1 - smoothing) * x[r * V + target] - smoothing * plain / V) / 4;
  }
  EXPECT_NEAR(total.data<float>()[0], mean, 1e-5);
  EXPECT_EQ(total.data<float>()[1], 4);
}

// A layer's worth of kernels; the bytes must not depend on the number of threads.
std::vector<float> results(int threads) {
  CpuBackend cpu({.threads = threads});
  const std::int64_t rows = 700, C = 96;
  const auto make = [&](const Shape& shape, std::uint32_t stream) {
    Tensor x = make_tensor(cpu, shape, DType::f32);
    cpu.random(x, {.kind = RandomFill::normal, .seed = 3, .stream = stream});
    return x;
  };
  const std::uint32_t seed[2] = {1, 2};
  Tensor x = make({rows, C}, 1), branch = make({rows, C}, 2), weight = make({C}, 3), bias = make({C}, 4);
  AddNorm norm{.x = x, .branch = branch, .weight = weight, .bias = bias, .dropout = {.rate = 0.2f, .seed = seed}};
  Tensor sum = like(x), y = like(x), mean = like(x, {rows}), rstd = like(x, {rows}), dx = like(x), db = like(x);
  Tensor dweight = like(weight), dbias = like(weight), branch_sums = like(weight), columns = like(weight),
         length = like(x, {2});
  cpu.add_norm(norm, sum, y, mean, rstd);
  norm.x = sum;
  cpu.add_norm_backward(norm, y, branch, mean, rstd, {dx}, {db}, {dweight}, {dbias}, {branch_sums});
  cpu.activation_backward(y, x, Activation::gelu, {dx, true}, {columns});
  cpu.gradient_norm(dx, 1.0f, length);
  std::vector<float> all;
  for (const Tensor& part : {y, dx, db, dweight, dbias, branch_sums, columns, length}) {
    const std::vector<float> values = download(part);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(Rows, ResultsDoNotDependOnThreads) {
  const std::vector<float> one = results(1);
  EXPECT_EQ(one, results(2));
  EXPECT_EQ(one, results(5));
}

}  // namespace
}  // namespace attend
