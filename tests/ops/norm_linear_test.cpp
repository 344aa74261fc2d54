// norm_linear on one row (where a device has one kernel for all of it) and on several: against a layer norm and a
// product written out in double, with and without columns that go to a cache.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "attend/ops/norm_linear.h"
#include "attend/tensor/pass.h"
#include "tests/ops/compare.h"
#include "tests/ops/devices.h"
#include "tests/ops/runner.h"

namespace attend::test {
namespace {

constexpr float kEps = 1e-5f;

Array pattern(const Shape& shape, double scale, double shift = 0) {
  Array values(shape);
  for (std::int64_t i = 0; i < shape.size(); ++i)
    values.values[static_cast<std::size_t>(i)] = shift + scale * std::sin(0.7 * static_cast<double>(i * i % 101) + 0.3);
  return values;
}

struct Inputs {
  Array x, norm_weight, norm_bias, weight, bias;
};

Array reference(const Inputs& in, Activation activation) {
  const std::int64_t rows = in.x.rows(), width = in.x.width(), out = in.weight.width();
  Array y({rows, out});
  for (std::int64_t r = 0; r < rows; ++r) {
    double mean = 0, variance = 0;
    for (std::int64_t i = 0; i < width; ++i) mean += in.x(r, i) / static_cast<double>(width);
    for (std::int64_t i = 0; i < width; ++i) variance += std::pow(in.x(r, i) - mean, 2) / static_cast<double>(width);
    for (std::int64_t o = 0; o < out; ++o) {
      double sum = in.bias(o);
      for (std::int64_t i = 0; i < width; ++i) {
        const double normed = (in.x(r, i) - mean) / std::sqrt(variance + kEps) * in.norm_weight(i) + in.norm_bias(i);
        sum += normed * in.weight(i, o);
      }
      y(r, o) = activate(sum, activation);
    }
  }
  return y;
}

struct Size {
  std::int64_t rows, width, out, cached;
};

class NormLinear : public testing::TestWithParam<std::tuple<const char*, Size>> {};

TEST_P(NormLinear, IsTheNormAndTheProduct) {
  const auto& [device, size] = GetParam();
  const bool on_cuda = std::string(device) == "cuda";
  if (on_cuda && !cuda()) GTEST_SKIP() << no_cuda();
  Backend& backend = on_cuda ? *cuda() : cpu();
  const auto [rows, width, out, cached] = size;
  const Inputs in = {pattern({rows, width}, 2, 0.5), pattern({width}, 0.5, 1), pattern({width}, 0.2),
                     pattern({width, out}, 1 / std::sqrt(static_cast<double>(width))), pattern({out}, 0.3)};
  const Activation activation = cached ? Activation::none : Activation::gelu_tanh;
  const Array expected = reference(in, activation);
  for (DType dtype : kFloats) {
    const auto tensor = [&](const Array& values) { return to_tensor(backend, values, dtype); };
    Pass pass(backend, {});
    ops::NormLinearOptions options = {.activation = activation, .input_major = true};
    if (cached) {
      options.cache = to_tensor(backend, Array({rows + 3, cached}), dtype);
      options.slots = make_tensor(backend, {rows}, DType::i32);
      std::vector<std::int32_t> slots;
      for (std::int64_t r = 0; r < rows; ++r) slots.push_back(static_cast<std::int32_t>(rows + 1 - r));
      upload(options.slots, slots);
    }
    const Tensor y = ops::norm_linear(pass.input(tensor(in.x)), {tensor(in.norm_weight), tensor(in.norm_bias), kEps},
                                      tensor(in.weight), tensor(in.bias), options);
    const std::int64_t kept = out - cached;
    ASSERT_EQ(y.shape(), (Shape{rows, kept}));
    Tensor whole = make_tensor(backend, y.shape(), dtype);
    backend.scale(y, 1, {whole});
    const std::vector<float> got = download(whole);
    const std::vector<float> cache = cached ? download(options.cache) : std::vector<float>();
    const double tolerance = dtype == DType::f32 ? 2e-5 : 5e-2;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t o = 0; o < out; ++o) {
        const float value = o < kept ? got[static_cast<std::size_t>(r * kept + o)]
                                     : cache[static_cast<std::size_t>((rows + 1 - r) * cached + o - kept)];
        ASSERT_NEAR(value, expected(r, o), tolerance) << name_of(dtype) << " row " << r << " column " << o;
      }
    // The other rows of the cache are as they were.
    if (cached) {
      EXPECT_EQ(cache[0], 0.0f);
      EXPECT_EQ(cache.back(), 0.0f);
    }
  }
}

std::string name_of_size(const testing::TestParamInfo<NormLinear::ParamType>& info) {
  const auto& [device, size] = info.param;
  return fmt::format("{}_{}_{}_to_{}_{}", device, size.rows, size.width, size.out, size.cached);
}

INSTANTIATE_TEST_SUITE_P(All, NormLinear,
                         testing::Combine(testing::Values("cpu", "cuda"),
                                          testing::Values(Size{1, 16, 48, 32}, Size{1, 24, 8, 0},
                                                          Size{1, 768, 2304, 1536}, Size{1, 1100, 72, 0},
                                                          Size{1, 17, 31, 0}, Size{3, 40, 72, 24},
                                                          Size{1, 5000, 16, 0})),
                         name_of_size);

}  // namespace
}  // namespace attend::test
