// The experiments on small networks, with small settings: what must hold whatever the weights are.
#include <gtest/gtest.h>

#include <cmath>

#include "attend/base/error.h"
#include "attend/experiments/gradients.h"
#include "attend/experiments/layer_cost.h"
#include "attend/experiments/reach.h"
#include "attend/experiments/recall.h"
#include "attend/experiments/speed.h"
#include "tests/tensor/tensors.h"

namespace attend::experiments {
namespace {

Backend& backend() {
  static const std::unique_ptr<Backend> kBackend = open_backend("cpu", {.threads = 1});
  return *kBackend;
}

const ReachMap& named(const std::vector<ReachMap>& maps, const std::string& name) {
  for (const ReachMap& map : maps)
    if (map.name == name) return map;
  throw Error("there is no " + name);
}

// Zeros are exact: nothing arrives where there is no connection.
TEST(Reach, IsWhatTheConnectionsAllow) {
  const auto maps = run_reach({.length = 6, .width = 8}, backend());
  for (std::int64_t t = 0; t < 6; ++t)
    for (std::int64_t s = 0; s < 6; ++s) {
      EXPECT_GT(named(maps, "MLP").at(t, s), 0);
      EXPECT_GT(named(maps, "self-attention").at(t, s), 0);
      EXPECT_EQ(named(maps, "convolution").at(t, s) > 0, std::abs(t - s) <= 1) << t << " " << s;
      for (const char* causal : {"tanh RNN", "LSTM", "causal self-attention"})
        EXPECT_EQ(named(maps, causal).at(t, s) > 0, s <= t) << causal << " " << t << " " << s;
    }
  EXPECT_NEAR(named(maps, "tanh RNN").reached(), 21.0 / 36, 1e-9);
  EXPECT_EQ(reach_text(named(maps, "convolution")).substr(5, 9), " . . . .\n");
}

TEST(Reach, OfConvolutionsGrowsWithDepth) {
  const auto maps = run_reach({.length = 7, .width = 8, .layers = 2}, backend());
  for (std::int64_t t = 0; t < 7; ++t)
    for (std::int64_t s = 0; s < 7; ++s) EXPECT_EQ(named(maps, "convolution").at(t, s) > 0, std::abs(t - s) <= 2);
}

// The Jacobian of a linear layer is its weights, whatever the input is: row t of a convolution is that of row t + 1.
TEST(Reach, OfAConvolutionIsTheSameEverywhere) {
  const ReachMap map = named(run_reach({.length = 6, .width = 8}, backend()), "convolution");
  for (std::int64_t t = 2; t + 1 < 6; ++t) {
    EXPECT_NEAR(map.at(t, t - 1), map.at(1, 0), 1e-5);
    EXPECT_NEAR(map.at(t, t), map.at(1, 1), 1e-5);
  }
}

TEST(Gradients, VanishInRnnsAndNotInAttention) {
  const auto curves = run_gradients({.width = 16, .length = 33, .batch = 4}, backend());
  ASSERT_EQ(curves.size(), 4u);
  const auto kept = [&](std::size_t i) { return curves[i].sizes[32] / curves[i].sizes[1]; };
  EXPECT_LT(kept(0), 1e-4);           // tanh
  EXPECT_GT(kept(1), 100 * kept(0));  // a GRU keeps more,
  EXPECT_GT(kept(2), 100 * kept(0));  // and an LSTM
  EXPECT_GT(kept(3), 0.2);            // attention keeps all
  for (const GradientCurve& curve : curves) EXPECT_GT(curve.sizes[0], 0);
}

// Wider gates keep more, larger weights explode.
TEST(Gradients, FollowTheGatesAndTheWeights) {
  const auto last = [](const GradientOptions& options, std::size_t i) {
    return run_gradients(options, backend())[i].sizes.back();
  };
  const GradientOptions open{.width = 16, .length = 33, .batch = 2, .start = {.forget_bias = 5}};
  GradientOptions half = open, large = open;
  half.start.forget_bias = 0, large.start.gain = 8;
  EXPECT_GT(last(open, 2), 1e3 * last(half, 2));
  EXPECT_GT(last(large, 0), 1e3 * last(open, 0));
  EXPECT_EQ(shown_distances(33), (std::vector<std::int64_t>{0, 1, 2, 4, 8, 16, 32}));
}

TEST(Recall, IsLearnedByAttentionAtAnyDistance) {
  const auto rows = run_recall({.distances = {4, 48}, .names = 4, .words = 4, .width = 16, .steps = 150}, backend());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_GT(rows[0].accuracy[3], 0.95);
  EXPECT_GT(rows[1].accuracy[3], 0.95);
  EXPECT_LT(rows[1].accuracy[0], 0.6);  // the tanh cell guesses
  EXPECT_NE(recall_figure(rows, 0.25).curves.size(), 0u);
}

TEST(LayerCosts, CountWhatTheFormulasSay) {
  const auto rows = run_layer_costs({.lengths = {8, 16}, .width = 8, .repeats = 1}, backend());
  const auto row = [&](LayerKind kind, std::int64_t length) {
    for (const LayerCostRow& one : rows)
      if (one.kind == kind && one.length == length) return one;
    throw Error("missing");
  };
  // n²·d for the scores and again for the sums, and 4·n·d² for the projections.
  EXPECT_EQ(row(LayerKind::attention, 16).multiply_adds, 2 * 16 * 16 * 8 + 4 * 16 * 64);
  EXPECT_EQ(row(LayerKind::tanh, 16).multiply_adds, 2 * 16 * 64);
  EXPECT_EQ(row(LayerKind::tanh, 16).sequential, 16);
  EXPECT_EQ(row(LayerKind::tanh, 16).path, 16);
  EXPECT_EQ(row(LayerKind::attention, 8).sequential, 1);
  EXPECT_EQ(row(LayerKind::attention, 8).path, 1);
  EXPECT_EQ(row(LayerKind::convolution, 8).path, 7);
  EXPECT_LT(row(LayerKind::restricted_attention, 16).multiply_adds, row(LayerKind::attention, 16).multiply_adds);
  for (const LayerCostRow& one : rows) EXPECT_GT(one.forward, 0);
}

TEST(Speed, ComparesModelsOfOneSize) {
  const SpeedResult result = run_speed({.lengths = {2, 8}, .width = 32, .batch = 2, .repeats = 1}, backend());
  const auto weights = 24.0 * 32 * 32;
  EXPECT_NEAR(static_cast<double>(result.lstm_parameters) / weights, 1, 0.05);
  EXPECT_NEAR(static_cast<double>(result.transformer_parameters) / weights, 1, 0.05);
  ASSERT_EQ(result.rows.size(), 2u);
  for (const SpeedRow& row : result.rows)
    for (const SpeedTimes& times : {row.lstm, row.transformer})
      EXPECT_TRUE(times.forward > 0 && times.training > 0 && times.token > 0);
  EXPECT_NE(speed_figure(result).curves.size(), 0u);
}

TEST(NetworkExperiments, BadSettingsAreNamed) {
  EXPECT_THROW(run_reach({.length = 1}, backend()), Error);
  EXPECT_THROW(run_reach({.layers = 0}, backend()), Error);
  EXPECT_THROW(run_reach({.kernel = 2}, backend()), Error);
  EXPECT_THROW(run_gradients({.length = 0}, backend()), Error);
  EXPECT_THROW(run_gradients({.width = 0}, backend()), Error);
  EXPECT_THROW(run_recall({.distances = {}}, backend()), Error);
  EXPECT_THROW(run_recall({.distances = {0}}, backend()), Error);
  EXPECT_THROW(run_recall({.names = 1}, backend()), Error);
  EXPECT_THROW(run_layer_costs({.lengths = {0}}, backend()), Error);
  EXPECT_THROW(run_speed({.lengths = {}}, backend()), Error);
  EXPECT_THROW(run_speed({.lengths = {8}, .width = 30}, backend()), Error);
}

}  // namespace
}  // namespace attend::experiments
