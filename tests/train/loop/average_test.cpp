// A moving average of weights, and lookahead: what they are after a few steps, and what putting them in the weights'
// place and back does.
#include <gtest/gtest.h>

#include <vector>

#include "attend/base/error.h"
#include "attend/nn/parameters.h"
#include "attend/train/loop/optimizer.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

struct Averaged {
  nn::Parameter weight{{5, 3}, {nn::Init::normal, 1}, nn::Role::weight};
  nn::Parameter mean{{4}, {nn::Init::ones}, nn::Role::buffer};
  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", weight), v("running_mean", mean);
  }
};

class Average : public OnDevice {};

TEST_P(Average, FollowsTheWeightsAndTradesPlacesWithThem) {
  constexpr float kDecay = 0.75f;
  for (DType dtype : {DType::f32, DType::bf16}) {
    Averaged model;
    nn::Parameters parameters(backend(), model, {.dtype = dtype});
    train::Optimizer optimizer(parameters, {.ema = kDecay});
    const auto read = [&] { return download(parameters.master()); };
    std::vector<float> expected(read().size());
    optimizer.exchange_average();  // there is none yet
    for (int step = 1; step <= 3; ++step) {
      backend().fill(parameters.gradient(), static_cast<float>(step));
      backend().fill(parameters.buffers(), static_cast<float>(step));
      optimizer.set_rate(0.1f, step);
      optimizer.update();
      const std::vector<float> now = read();
      // What the weights were before the first step has no part in it.
      const float shares = 1 + kDecay + kDecay * kDecay, share = (step == 3 ? 1 : step == 2 ? kDecay : kDecay * kDecay);
      for (std::size_t i = 0; i < now.size(); ++i) expected[i] += share / shares * now[i];
    }
    const std::vector<float> weights = read();
    const float buffers = (0.75f * 0.75f * 1 + 0.75f * 2 + 3) / (0.75f * 0.75f + 0.75f + 1);
    optimizer.exchange_average();
    const std::vector<float> average = read();
    for (std::size_t i = 0; i < average.size(); ++i) EXPECT_NEAR(average[i], expected[i], 1e-5f) << i;
    EXPECT_NEAR(download(parameters.buffers())[0], buffers, 1e-5f);
    EXPECT_EQ(download(model.weight.value).size(), 15u);
    optimizer.exchange_average();
    EXPECT_EQ(read(), weights);
    EXPECT_EQ(download(parameters.buffers())[0], 3);
  }
}

// Lookahead by its definition (Zhang et al. 2019, algorithm 1), in double.
TEST_P(Average, SlowWeightsFollowAndLeadBack) {
  constexpr train::Lookahead kAhead{.every = 2, .share = 0.6f, .power = 3};
  constexpr int kSteps = 5;
  for (DType dtype : {DType::f32, DType::bf16}) {
    Averaged model;
    nn::Parameters parameters(backend(), model, {.dtype = dtype});
    train::Optimizer optimizer(parameters, {.lookahead = kAhead});
    const auto read = [&] { return download(parameters.master()); };
    const std::vector<float> first = read();
    std::vector<double> slow(first.begin(), first.end());
    double slow_mean = 1;
    for (int step = 1; step <= kSteps; ++step) {
      backend().fill(parameters.gradient(), static_cast<float>(step));
      backend().fill(parameters.buffers(), static_cast<float>(step));
      optimizer.set_rate(0.1f, step);
      optimizer.update();
      const std::vector<float> fast = read();
      const double progress = static_cast<double>(step) / kSteps;
      optimizer.look_ahead(step, progress);
      const std::vector<float> now = read();
      if (step % 2 != 0) {
        EXPECT_EQ(now, fast);
        continue;
      }
      const double share = 0.6 * progress * progress * progress;
      for (std::size_t i = 0; i < slow.size(); ++i) {
        slow[i] = share * slow[i] + (1 - share) * static_cast<double>(fast[i]);
        EXPECT_NEAR(now[i], slow[i], 1e-5) << "step " << step << ", " << i;
      }
      slow_mean = share * slow_mean + (1 - share) * step;
      EXPECT_NEAR(download(parameters.buffers())[0], slow_mean, 1e-5);
      EXPECT_NEAR(download(model.weight.value)[0], now[0], dtype == DType::f32 ? 0 : 0.01);
    }
    const std::vector<float> fast = read();
    ASSERT_TRUE(optimizer.exchange_average());
    const std::vector<float> kept = read();
    for (std::size_t i = 0; i < slow.size(); ++i) EXPECT_NEAR(kept[i], slow[i], 1e-5) << i;
    optimizer.exchange_average();
    EXPECT_EQ(read(), fast);
  }
}

TEST_P(Average, LookaheadAndAnAverageExcludeEachOther) {
  Averaged model;
  nn::Parameters parameters(backend(), model, {});
  EXPECT_THROW(train::Optimizer(parameters, {.ema = 0.9f, .lookahead = {.every = 5}}), Error);
  EXPECT_THROW(train::Optimizer(parameters, {.lookahead = {.every = 5, .share = 1}}), Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, Average, every_device(), name_of_device);

}  // namespace
}  // namespace attend::test
