// The optimiser kernels against the formulas in double: clipping, bf16 values with f32 masters, gradients that are not
// finite. Kernels only; who calls them lives in attend/train.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using Doubles = std::vector<double>;

// Reproducible numbers in [-1, 1).
std::vector<float> noise(std::int64_t count, unsigned seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values.push_back(static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1);
  }
  return values;
}

double norm_of(const std::vector<float>& values) {
  double sum = 0;
  for (float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

// A flat buffer of parameters and what an optimiser keeps beside it.
struct State {
  State(Backend& backend, std::int64_t count, DType dtype)
      : master(tensor_of(backend, {count}, noise(count, 1))),
        value(dtype == DType::f32 ? master : tensor_of(backend, {count}, noise(count, 1), dtype)),
        gradient(make_tensor(backend, {count}, DType::f32)),
        first(tensor_of(backend, {count}, std::vector<float>(static_cast<std::size_t>(count), 0))),
        second(tensor_of(backend, {count}, std::vector<float>(static_cast<std::size_t>(count), 0))),
        rate(make_tensor(backend, {4}, DType::f32)),
        norm(make_tensor(backend, {2}, DType::f32)) {}
  Tensor master, value, gradient, first, second, rate, norm;
};

constexpr float kRate = 0.01f, kBeta1 = 0.9f, kBeta2 = 0.98f, kEps = 1e-6f, kDecay = 0.1f;

void set_rate(State& state, int step) {
  upload(state.rate, std::vector<float>{kRate, static_cast<float>(1 - std::pow(static_cast<double>(kBeta1), step)),
                                        static_cast<float>(1 - std::pow(static_cast<double>(kBeta2), step)), 0});
}

class Optimisers : public OnDevice {};

TEST_P(Optimisers, NormAndClipScale) {
  for (std::int64_t count : {1, 3, 17, 1000, 100003}) {
    const std::vector<float> values = noise(count, 5);
    const Tensor gradient = tensor_of(backend(), {count}, values), norm = make_tensor(backend(), {2}, DType::f32);
    const double expected = norm_of(values);
    backend().gradient_norm(gradient, static_cast<float>(expected / 2), norm);
    std::vector<float> result = download(norm);
    EXPECT_NEAR(result[0], expected, 1e-5 * expected) << count;
    EXPECT_NEAR(result[1], 0.5, 1e-5) << count;
    backend().gradient_norm(gradient, static_cast<float>(expected * 2), norm);  // below the limit: untouched
    EXPECT_EQ(download(norm)[1], 1) << count;
    backend().gradient_norm(gradient, 0, norm);  // no limit
    EXPECT_EQ(download(norm)[1], 1) << count;
  }
}

TEST_P(Optimisers, NormOfNothingAndOfZeros) {
  const Tensor norm = make_tensor(backend(), {2}, DType::f32);
  backend().gradient_norm(make_tensor(backend(), {0}, DType::f32), 1, norm);
  EXPECT_EQ(download(norm), (std::vector<float>{0, 1}));
  backend().gradient_norm(tensor_of(backend(), {5}, std::vector<float>(5, 0)), 1, norm);
  EXPECT_EQ(download(norm), (std::vector<float>{0, 1}));
}

TEST_P(Optimisers, NormThatIsNotFiniteStopsTheStep) {
  const Tensor norm = make_tensor(backend(), {2}, DType::f32);
  for (float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    for (float limit : {0.0f, 1.0f}) {
      std::vector<float> values = noise(1000, 5);
      values[777] = bad;
      backend().gradient_norm(tensor_of(backend(), {1000}, values), limit, norm);
      EXPECT_EQ(download(norm)[1], 0) << bad;
    }
}

// Loshchilov & Hutter 2019, algorithm 2, in double.
struct AdamWReference {
  Doubles value, m, v;
  explicit AdamWReference(const std::vector<float>& start)
      : value(start.begin(), start.end()), m(start.size()), v(start.size()) {}
  void step(const std::vector<float>& gradient, double scale, int t, double decay) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const double g = gradient[i] * scale;
      m[i] = kBeta1 * m[i] + (1 - static_cast<double>(kBeta1)) * g;
      v[i] = kBeta2 * v[i] + (1 - static_cast<double>(kBeta2)) * g * g;
      const double m_hat = m[i] / (1 - std::pow(static_cast<double>(kBeta1), t));
      const double v_hat = v[i] / (1 - std::pow(static_cast<double>(kBeta2), t));
      value[i] -= static_cast<double>(kRate) * (m_hat / (std::sqrt(v_hat) + kEps) + decay * value[i]);
    }
  }
};

void expect_near(const Tensor& actual, const Doubles& expected, double tolerance) {
  const std::vector<float> values = download(actual);
  double largest = 0;
  for (double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], tolerance * largest + 1e-12) << "element " << i;
}

TEST_P(Optimisers, AdamWFollowsTheFormula) {
  for (DType dtype : {DType::f32, DType::bf16})
    for (std::int64_t count : {1, 17, 4099})
      for (float decay : {0.0f, kDecay}) {
        State state(backend(), count, dtype);
        AdamWReference reference(noise(count, 1));
        for (int step = 1; step <= 4; ++step) {
          const std::vector<float> gradient = noise(count, 10 + static_cast<unsigned>(step));
          upload(state.gradient, gradient);
          set_rate(state, step);
          const double limit = norm_of(gradient) * (step % 2 ? 0.5 : 2);  // clipped every other step
          backend().gradient_norm(state.gradient, static_cast<float>(limit), state.norm);
          backend().adamw({.value = state.value,
                           .master = state.master,
                           .gradient = state.gradient,
                           .rate = state.rate,
                           .norm = state.norm,
                           .weight_decay = decay},
                          kBeta1, kBeta2, kEps, state.first, state.second);
          reference.step(gradient, step % 2 ? 0.5 : 1, step, decay);
        }
        SCOPED_TRACE(name_of(dtype));
        expect_near(state.master, reference.value, 1e-5);
        expect_near(state.first, reference.m, 1e-5);
        expect_near(state.second, reference.v, 1e-5);
        // What the model computes with is its master, rounded.
        std::vector<float> rounded = download(state.master);
        if (dtype == DType::bf16)
          for (float& value : rounded) value = Bf16(value);
        EXPECT_EQ(download(state.value), rounded);
      }
}

TEST_P(Optimisers, SgdFollowsTheFormula) {
  for (DType dtype : {DType::f32, DType::bf16})
    for (const Momentum momentum : {Momentum{}, {.share = 0.9f}, {.share = 0.9f, .nesterov = true}}) {
      const std::int64_t count = 1003;
      State state(backend(), count, dtype);
      Doubles value(static_cast<std::size_t>(count)), velocity(value.size());
      const std::vector<float> start = noise(count, 1);
      std::copy(start.begin(), start.end(), value.begin());
      for (int step = 1; step <= 3; ++step) {
        const std::vector<float> gradient = noise(count, 10 + static_cast<unsigned>(step));
        upload(state.gradient, gradient);
        set_rate(state, step);
        backend().gradient_norm(state.gradient, static_cast<float>(norm_of(gradient) / 4), state.norm);
        backend().sgd({.value = state.value,
                       .master = state.master,
                       .gradient = state.gradient,
                       .rate = state.rate,
                       .norm = state.norm,
                       .weight_decay = kDecay},
                      momentum, state.first);
        for (std::size_t i = 0; i < value.size(); ++i) {  // PyTorch's: the decay is part of the gradient
          const double g = gradient[i] * 0.25 + static_cast<double>(kDecay) * value[i];
          velocity[i] = static_cast<double>(momentum.share) * velocity[i] + g;
          const double ahead = g + static_cast<double>(momentum.share) * velocity[i];
          value[i] -= static_cast<double>(kRate) * (momentum.nesterov ? ahead : velocity[i]);
        }
      }
      expect_near(state.master, value, 1e-5);
      std::vector<float> rounded = download(state.master);
      if (dtype == DType::bf16)
        for (float& each : rounded) each = Bf16(each);
      EXPECT_EQ(download(state.value), rounded);
    }
}

TEST_P(Optimisers, ABadGradientChangesNothing) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    const std::int64_t count = 1003;
    State state(backend(), count, dtype);
    upload(state.first, noise(count, 2));
    upload(state.second, std::vector<float>(static_cast<std::size_t>(count), 0.5f));
    std::vector<float> gradient = noise(count, 9);
    gradient[500] = std::numeric_limits<float>::quiet_NaN();
    upload(state.gradient, gradient);
    set_rate(state, 1);
    const auto before = {download(state.value), download(state.master), download(state.first), download(state.second)};
    backend().gradient_norm(state.gradient, 1, state.norm);
    const Optimizer args{.value = state.value,
                         .master = state.master,
                         .gradient = state.gradient,
                         .rate = state.rate,
                         .norm = state.norm,
                         .weight_decay = kDecay};
    backend().adamw(args, kBeta1, kBeta2, kEps, state.first, state.second);
    backend().sgd(args, {.share = 0.9f}, state.first);
    const auto after = {download(state.value), download(state.master), download(state.first), download(state.second)};
    EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
  }
}

INSTANTIATE_TEST_SUITE_P(On, Optimisers, every_device(), name_of_device);

}  // namespace
}  // namespace attend::test
