// Experiments that train small models, in a few steps: what they return, what they refuse, and that the same seed gives
// the same numbers.
#include <gtest/gtest.h>

#include <memory>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/experiments/digit_training.h"
#include "attend/experiments/longer_lines.h"

namespace attend::experiments {
namespace {

Backend& cpu() {
  static const std::unique_ptr<Backend> kBackend = open_backend("cpu", {.threads = 1});
  return *kBackend;
}

DigitTraining few_steps() {
  return {.min_length = 2, .max_length = 3, .rows = 4, .tested = 5, .learn = {.steps = 6, .points = 3}};
}

TEST(ScoreExperiment, TrainsEveryScore) {
  std::int64_t reported = 0;
  ScoreOptions options{.training = few_steps()};
  options.training.learn.on_step = [&](std::int64_t done) { EXPECT_EQ(done, ++reported); };
  const auto results = run_scores(options, cpu());
  ASSERT_EQ(results.size(), 10u);
  EXPECT_EQ(reported, 60);
  for (const DigitResult& one : results) {
    EXPECT_GT(one.parameters, 0);
    EXPECT_EQ(one.curve.steps, (std::vector<double>{2, 4, 6}));
    EXPECT_EQ(one.curve.losses.size(), 3u);
    EXPECT_GE(one.right, 0);
    EXPECT_LE(one.right, 1);
  }
  EXPECT_EQ(results[0].score, "scaled-dot");
  EXPECT_EQ(results[9].model, "rnn");
  // The general score has a matrix for each head more than the dot product.
  EXPECT_EQ(results[2].parameters - results[1].parameters, 3 * 2 * 32 * 32);
  EXPECT_GT(scores_figure(results).curves.size(), 10u);
}

TEST(ScoreExperiment, LearnsShortStringsAndRepeats) {
  const ScoreOptions options{.models = {"transformer"},
                             .scores = {"additive"},
                             .training = {.min_length = 1, .max_length = 3, .tested = 40, .learn = {.steps = 120}}};
  const auto one = run_scores(options, cpu()), two = run_scores(options, cpu());
  EXPECT_GT(one[0].right, 0.5);
  EXPECT_LT(one[0].curve.losses.back(), 0.5 * one[0].curve.losses.front());
  EXPECT_EQ(one[0].curve.losses, two[0].curve.losses);
}

TEST(ScoreExperiment, RefusesWhatThereIsNot) {
  EXPECT_THROW(run_scores({.models = {"cnn"}, .training = few_steps()}, cpu()), Error);
  EXPECT_THROW(run_scores({.scores = {"product"}, .training = few_steps()}, cpu()), Error);
  EXPECT_THROW(run_scores({.training = {.max_length = 100}}, cpu()), Error);
  EXPECT_THROW(run_scores({.training = {.learn = {.steps = 0}}}, cpu()), Error);
}

TEST(ScalingExperiment, TrainsBothWays) {
  const auto results = train_scaling({.width = 16, .training = few_steps()}, cpu());
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].parameters, results[1].parameters);
  EXPECT_NE(results[0].curve.losses, results[1].curve.losses);
  EXPECT_THROW(train_scaling({.width = 20, .training = few_steps()}, cpu()), Error);
}

TEST(LongerExperiment, TestsLinesTwiceAsLong) {
  const LongerOptions options{
      .length = 8, .offset = 2, .letters = 6, .rows = 16, .tested = 20, .learn = {.steps = 120}};
  const auto results = run_longer(options, cpu());
  ASSERT_EQ(results.size(), 4u);
  for (const LongerResult& one : results) {
    EXPECT_EQ(one.right.size(), 15u);  // from the second letter, which the first two decide, to the sixteenth
    EXPECT_GT(one.within, 0.8) << one.positions;
  }
  // Distances go on behind the training lines; rows of a table do not.
  EXPECT_EQ(results[0].positions, "learned");
  EXPECT_EQ(results[3].positions, "rotary");
  EXPECT_GT(results[3].beyond, results[0].beyond);
  EXPECT_GT(results[2].beyond, results[0].beyond);
  EXPECT_GT(longer_figure(options, results).curves.size(), 4u);
}

TEST(LongerExperiment, RefusesWhatMakesNoSense) {
  EXPECT_THROW(run_longer({.positions = {"circular"}}, cpu()), Error);
  EXPECT_THROW(run_longer({.length = 1}, cpu()), Error);
  EXPECT_THROW(run_longer({.length = 8, .offset = 8}, cpu()), Error);
}

}  // namespace
}  // namespace attend::experiments
