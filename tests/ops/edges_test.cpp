// What the cases cannot say: ids outside their table, equal maxima, numbers that overflow a careless exp.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attend/ops/activation.h"
#include "attend/ops/attention.h"
#include "attend/ops/embedding.h"
#include "attend/ops/reduce.h"
#include "attend/ops/softmax.h"
#include "attend/tensor/pass.h"
#include "tests/ops/compare.h"
#include "tests/ops/devices.h"
#include "tests/ops/runner.h"

namespace attend::test {
namespace {

class Edges : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "cuda") {
      if (!cuda()) GTEST_SKIP() << no_cuda();
      backend_ = cuda();
    } else {
      backend_ = &cpu();
    }
  }
  Tensor floats(const Shape& shape, const std::vector<float>& values) {
    Tensor tensor = make_tensor(*backend_, shape, DType::f32);
    upload(tensor, values);
    return tensor;
  }
  Tensor integers(const std::vector<std::int32_t>& values) {
    Tensor tensor = make_tensor(*backend_, {static_cast<std::int64_t>(values.size())}, DType::i32);
    upload(tensor, values);
    return tensor;
  }
  Backend* backend_ = nullptr;
};

TEST_P(Edges, IdsOutsideTheTableGiveNan) {
  Pass pass(*backend_, {.recording = true});
  const Tensor table = pass.variable(floats({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Tensor y = ops::embedding(pass.input(integers({1, 2, -1, 0})), table);
  const std::vector<float> rows = download(y);
  for (int c = 0; c < 3; ++c) {
    EXPECT_EQ(rows[0 + c], 4.0f + static_cast<float>(c));
    EXPECT_TRUE(std::isnan(rows[3 + c]));
    EXPECT_TRUE(std::isnan(rows[6 + c]));
    EXPECT_EQ(rows[9 + c], 1.0f + static_cast<float>(c));
  }
  // And no gradient is written outside it either.
  pass.backward(y, to_tensor(*backend_, Array({4, 3}, 1), DType::f32));
  EXPECT_EQ(download(gradient_of(table)), std::vector<float>(6, 1.0f));
}

TEST_P(Edges, MaximumIsTheFirstOfEquals) {
  Pass pass(*backend_, {.recording = true});
  const Tensor x = pass.variable(floats({2, 4}, {1, 3, 3, 2, -5, -5, -5, -6}));
  const ops::Maximum maximum = ops::max(x, 1);
  EXPECT_EQ(download_ints(maximum.index), (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(download(maximum.value), (std::vector<float>{3, -5}));
  pass.backward(maximum.value, to_tensor(*backend_, Array({2}, 1), DType::f32));
  EXPECT_EQ(download(gradient_of(x)), (std::vector<float>{0, 1, 0, 0, 1, 0, 0, 0}));
}

// With scores of some hundred a key gets all the weight, and moving scores a little changes nothing: what rounding
// leaves must not be multiplied by queries and keys as large as that.
TEST(AttentionEdges, AKeyWithAllTheWeightLeavesNoGradientOfScores) {
  constexpr std::int64_t kQueries = 3, kKeys = 5, kWidth = 8;
  Array q({1, kQueries, kWidth}), k({1, kKeys, kWidth}), v(k.shape), dy(q.shape);
  for (std::int64_t t = 0; t < kQueries; ++t) q(0, t, t) = 40;
  for (std::int64_t s = 0; s < kKeys; ++s) k(0, s, s) = 40;
  for (std::int64_t i = 0; i < v.size(); ++i) v[i] = std::sin(1.7 * static_cast<double>(i));
  for (std::int64_t i = 0; i < dy.size(); ++i) dy[i] = std::cos(2.3 * static_cast<double>(i));
  Pass pass(cpu(), {.recording = true});
  const Tensor queries = pass.variable(to_tensor(cpu(), q, DType::f32));
  const Tensor keys = pass.variable(to_tensor(cpu(), k, DType::f32));
  const Tensor y = ops::attention(queries, keys, pass.input(to_tensor(cpu(), v, DType::f32)), {.heads = 1});
  pass.backward(y, to_tensor(cpu(), dy, DType::f32));
  for (const Tensor& each : {queries, keys})
    for (float value : download(gradient_of(each))) EXPECT_LE(std::fabs(value), 1e-30f);
}

TEST_P(Edges, LargeNumbersDoNotOverflow) {
  const Tensor x = floats({1, 3}, {1000, 999, -1000});
  const std::vector<float> y = download(ops::softmax(x));
  EXPECT_NEAR(y[0], 0.731059f, 1e-5);
  EXPECT_NEAR(y[1], 0.268941f, 1e-5);
  EXPECT_EQ(y[2], 0);
  EXPECT_NEAR(download(ops::cross_entropy(x, integers({2})).mean)[0], 2000.313f, 1e-2);
  for (Activation kind : {Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
    const std::vector<float> big = download(ops::activation(x, kind));
    EXPECT_FLOAT_EQ(big[0], 1000) << name_of(kind);
    EXPECT_NEAR(big[2], 0, 1e-30) << name_of(kind);
  }
  EXPECT_EQ(download(ops::tanh(x)), (std::vector<float>{1, 1, -1}));
  EXPECT_NEAR(download(ops::sigmoid(x))[2], 0, 1e-30);
}

TEST_P(Edges, NanIsPassedOn) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = floats({1, 3}, {1, nan, 2});
  for (Activation kind :
       {Activation::gelu, Activation::gelu_tanh, Activation::silu, Activation::tanh, Activation::sigmoid}) {
    const std::vector<float> y = download(ops::activation(x, kind));
    EXPECT_FALSE(std::isnan(y[0])) << name_of(kind);
    EXPECT_TRUE(std::isnan(y[1])) << name_of(kind);
  }
  EXPECT_TRUE(std::isnan(download(ops::softmax(x))[0]));
  EXPECT_TRUE(std::isnan(download(ops::cross_entropy(x, integers({0})).mean)[0]));
}

// Scores of several hundred: the running maximum of the flash kernel must hold.
TEST_P(Edges, AttentionWithLargeScores) {
  Array q({1, 3, 8}, 40), k({1, 5, 8}, -40), v({1, 5, 8});
  for (int c = 0; c < 8; ++c) k(0, 3, c) = 40, v(0, 3, c) = 7;
  const Tensor y = ops::attention(to_tensor(*backend_, q, DType::f32), to_tensor(*backend_, k, DType::f32),
                                  to_tensor(*backend_, v, DType::f32), {.heads = 1});
  EXPECT_TRUE(near("output", to_array(y), Array({1, 3, 8}, 7), 1e-5));
}

INSTANTIATE_TEST_SUITE_P(On, Edges, testing::Values("cpu", "cuda"),
                         [](const testing::TestParamInfo<const char*>& info) { return std::string(info.param); });

}  // namespace
}  // namespace attend::test
