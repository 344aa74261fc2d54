// A moving average of weights: what it is after a few steps, and what putting it in the weights' place and back does.
#include <gtest/gtest.h>

#include <vector>

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

INSTANTIATE_TEST_SUITE_P(Devices, Average, every_device(), name_of_device);

}  // namespace
}  // namespace attend::test
