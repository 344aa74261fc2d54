// Parameters that learn otherwise than the rest, against AdamW steps computed by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attend/nn/layers.h"
#include "attend/nn/parameters.h"
#include "attend/ops/reduce.h"
#include "attend/train/loop/layer_decay.h"
#include "attend/train/loop/optimizer.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

struct Two {
  nn::Linear first{3, 70}, second{70, 2};
  template <class Visitor>
  void visit(Visitor&& v) {
    v("first", first), v("second", second);
  }
};

constexpr double kRate = 0.01, kBeta1 = 0.9, kBeta2 = 0.98, kEps = 1e-6, kDecay = 0.1;

// The value after steps with the gradients 1, 2, 3, ..: Loshchilov & Hutter 2019, algorithm 2.
double stepped(double value, double rate, double decay, int steps) {
  double m = 0, v = 0;
  for (int t = 1; t <= steps; ++t) {
    m = kBeta1 * m + (1 - kBeta1) * t, v = kBeta2 * v + (1 - kBeta2) * t * t;
    const double step = m / (1 - std::pow(kBeta1, t)) / (std::sqrt(v / (1 - std::pow(kBeta2, t))) + kEps);
    value -= rate * (step + decay * value);
  }
  return value;
}

train::OptimizerOptions options_with(std::vector<train::ParameterGroup> groups) {
  return {.beta1 = static_cast<float>(kBeta1),
          .beta2 = static_cast<float>(kBeta2),
          .eps = static_cast<float>(kEps),
          .weight_decay = static_cast<float>(kDecay),
          .groups = std::move(groups)};
}

class Groups : public OnDevice {
 protected:
  // name -> {rate factor, decay}, after two steps.
  void expect_learns(const std::vector<train::ParameterGroup>& groups,
                     const std::map<std::string, std::pair<double, double>>& expected) {
    for (DType dtype : {DType::f32, DType::bf16}) {
      Two model;
      nn::Parameters parameters(backend(), model, {.dtype = dtype});
      std::vector<std::vector<float>> before;
      for (const auto& entry : parameters.entries()) before.push_back(parameters.read(entry));
      train::Optimizer optimizer(parameters, options_with(groups));
      for (int step = 1; step <= 2; ++step) {
        backend().fill(parameters.gradient(), static_cast<float>(step));
        optimizer.set_rate(static_cast<float>(kRate), step);
        optimizer.update();
      }
      for (std::size_t i = 0; i < before.size(); ++i) {
        const auto& entry = parameters.entries()[i];
        const auto [factor, decay] = expected.at(entry.name);
        const std::vector<float> after = parameters.read(entry);
        for (std::size_t j = 0; j < after.size(); ++j) {
          const double wanted = factor == 0 ? before[i][j] : stepped(before[i][j], factor * kRate, decay, 2);
          ASSERT_NEAR(after[j], wanted, 2e-7) << entry.name;
        }
      }
    }
  }
};

TEST_P(Groups, WithoutThemMatricesDecay) {
  expect_learns(
      {},
      {{"first.weight", {1, kDecay}}, {"first.bias", {1, 0}}, {"second.weight", {1, kDecay}}, {"second.bias", {1, 0}}});
}

TEST_P(Groups, HaveTheirOwnRateAndDecayOrStandStill) {
  expect_learns({{.pattern = "first.*", .rate = 0.25f, .weight_decay = 0.0f},
                 {.pattern = "*.bias", .weight_decay = static_cast<float>(kDecay)}},
                {{"first.weight", {0.25, 0}},
                 {"first.bias", {0.25, 0}},
                 {"second.weight", {1, kDecay}},
                 {"second.bias", {1, kDecay}}});
  expect_learns({{.pattern = "*.bias", .weight_decay = 0.5f}}, {{"first.weight", {1, kDecay}},
                                                                {"first.bias", {1, 0.5}},
                                                                {"second.weight", {1, kDecay}},
                                                                {"second.bias", {1, 0.5}}});
  expect_learns(
      {{.pattern = "first.weight", .frozen = true}, {.pattern = "*bias", .rate = 3}},
      {{"first.weight", {0, 0}}, {"first.bias", {3, 0}}, {"second.weight", {1, kDecay}}, {"second.bias", {3, 0}}});
}

TEST_P(Groups, FrozenOnesHaveNoGradient) {
  Two model;
  nn::Parameters parameters(backend(), model, {});
  train::Optimizer optimizer(parameters, options_with({{.pattern = "first.*", .frozen = true}}));
  Pass pass(backend(), {.recording = true});
  parameters.start_gradients();
  const Tensor x = pass.input(tensor_of(backend(), {1, 3}, {1, 2, 3}));
  const Tensor y = model.second(model.first(x));
  EXPECT_EQ(pass.ops_recorded(), 1u);  // nothing below the second projection asks for a gradient
  pass.backward(ops::mean(y.reshape({2}), 0));
  parameters.finish_gradients();
  for (const auto& entry : parameters.entries()) {
    const auto begin = static_cast<std::size_t>(entry.offset),
               size = static_cast<std::size_t>(entry.parameter->shape.size());
    const std::vector<float> all = download(parameters.gradient());
    bool any = false;
    for (std::size_t i = begin; i < begin + size; ++i) any = any || all[i] != 0;
    EXPECT_EQ(any, entry.name.starts_with("second")) << entry.name;
  }
}

TEST_P(Groups, ThatFitNobodyAreErrors) {
  Two model;
  nn::Parameters parameters(backend(), model, {});
  for (const train::ParameterGroup& bad : {train::ParameterGroup{.pattern = "third.*"},
                                           {.pattern = "first.*", .rate = -1},
                                           {.pattern = "first.*", .weight_decay = -1.0f},
                                           {.pattern = ""}})
    EXPECT_THROW(train::Optimizer(parameters, options_with({bad})), Error);
}

// Two stacks of three and two layers, with embeddings below and a head above.
struct Stacks {
  nn::Parameter table{{8, 4}, {}, nn::Role::table}, norm{{4}, {}}, head{{4}, {}};
  std::vector<nn::Linear> encoder{3, nn::Linear(4, 4)}, decoder{2, nn::Linear(4, 4)};
  template <class Visitor>
  void visit(Visitor&& v) {
    v("words", table), v("embeddings.norm", norm), v("head.weight", head);
    v("encoder.layer", encoder), v("decoder.layer", decoder);
  }
};

TEST(LayerDecay, LowerLayersLearnMoreSlowly) {
  Stacks model;
  const std::vector<train::ParameterGroup> groups = train::with_layer_decay(
      nn::Parameters::list(model),
      {{.pattern = "*.bias", .rate = 2, .weight_decay = 0.0f}, {.pattern = "head.*", .frozen = true}}, 0.5f);
  std::map<std::string, train::ParameterGroup> by_name;
  for (const train::ParameterGroup& group : groups) by_name[group.pattern] = group;
  EXPECT_EQ(by_name.size(), groups.size());
  for (const auto& [name, rate] : std::map<std::string, float>{{"words", 0.125f},
                                                               {"embeddings.norm", 0.125f},
                                                               {"encoder.layer.0.weight", 0.25f},
                                                               {"encoder.layer.1.weight", 0.5f},
                                                               {"encoder.layer.2.weight", 1},
                                                               {"encoder.layer.1.bias", 1},
                                                               {"decoder.layer.0.weight", 0.5f},
                                                               {"decoder.layer.1.weight", 1},
                                                               {"head.weight", 1}})
    EXPECT_EQ(by_name.at(name).rate, rate) << name;
  EXPECT_EQ(by_name.at("decoder.layer.0.bias").weight_decay, 0.0f);
  EXPECT_TRUE(by_name.at("head.weight").frozen);
  Two flat;
  EXPECT_THROW(train::with_layer_decay(nn::Parameters::list(flat), {}, 0.5f), Error);
}

TEST(Patterns, MatchWholeNames) {
  using train::fits_pattern;
  EXPECT_TRUE(fits_pattern("a.b.c", "a.*.c") && fits_pattern("a.b.c", "*") && fits_pattern("a.b", "a.b*"));
  EXPECT_TRUE(fits_pattern("aab", "*ab") && fits_pattern("", "*"));
  EXPECT_FALSE(fits_pattern("a.b.c", "a.b") || fits_pattern("a.b.c", "b.c") || fits_pattern("a", "a.*"));
}

INSTANTIATE_TEST_SUITE_P(Devices, Groups, every_device(), name_of_device);

}  // namespace
}  // namespace attend::test
