// The residual stream with stochastic depth (Huang et al. 2016): whole items of a batch do without a branch, the others
// get it scaled, wherever the sum is computed.
#include "attend/nn/residual.h"

#include <gtest/gtest.h>

#include "attend/nn/parameters.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

constexpr std::int64_t kItems = 64, kPlaces = 3, kWidth = 16;
constexpr float kRate = 0.5f;

class StochasticDepth : public OnDevice {
 protected:
  Tensor of(float value) {
    return tensor_of(backend(), {kItems, kPlaces, kWidth}, std::vector<float>(kItems * kPlaces * kWidth, value));
  }
  // Of a stream of ones with a branch of twos: how many items are 1 everywhere, where the others are 1 + 2 / (1 -
  // rate).
  static std::int64_t dropped(const Tensor& stream) {
    const std::vector<float> values = download(stream);
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < kItems; ++i) {
      const float first = values[static_cast<std::size_t>(i * kPlaces * kWidth)];
      EXPECT_TRUE(first == 1 || first == 1 + 2 / (1 - kRate)) << first;
      for (std::int64_t j = 0; j < kPlaces * kWidth; ++j)
        EXPECT_EQ(values[static_cast<std::size_t>(i * kPlaces * kWidth + j)], first) << "item " << i;
      count += first == 1;
    }
    return count;
  }
};

TEST_P(StochasticDepth, DropsItemsInTheNormAndWithoutOne) {
  nn::LayerNorm norm(kWidth);
  const nn::Parameters parameters(backend(), norm, {});
  Pass pass(backend(), {.recording = true});
  pass.begin({.seed = 3});
  const Tensor ones = pass.input(of(1)), twos = pass.input(of(2));
  const auto with_branch = [&](float dropout) {
    nn::Residual stream(ones, {.dropout = dropout});
    nn::Branch branch(twos);
    branch.drop_path = kRate;
    stream.add(branch);
    return stream;
  };
  for (const bool normed : {false, true}) {
    nn::Residual stream = with_branch(0);
    if (normed) norm(stream);
    const std::int64_t count = dropped(stream.value());
    EXPECT_GT(count, kItems / 4) << normed;
    EXPECT_LT(count, kItems * 3 / 4) << normed;
  }
  // Beside dropout of elements it is a kernel of its own.
  nn::Residual both = with_branch(1e-6f);
  norm(both);
  dropped(both.value());
}

TEST_P(StochasticDepth, DropsNothingWithoutRecording) {
  nn::Residual stream(of(1), {});
  nn::Branch branch(of(2));
  branch.drop_path = kRate;
  stream.add(branch);
  EXPECT_EQ(download(stream.value()), std::vector<float>(kItems * kPlaces * kWidth, 3));
}

INSTANTIATE_TEST_SUITE_P(Nn, StochasticDepth, every_device(), name_of_device);

}  // namespace
}  // namespace attend::test
