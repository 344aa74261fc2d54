// Convolutions that begin as copies: a channel goes through each of them unchanged.
#include "attend/train/recipes/images/dirac.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "attend/models/resnet9.h"
#include "attend/nn/parameters.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

TEST(Dirac, TheFirstFiltersCopyTheirChannelAndTheOthersStayRandom) {
  models::ResNet9Classifier model(models::ResNet9Config{
      .image_size = 8, .width = 4, .hidden_sizes = {6, 5}, .depths = {2, 1}, .labels = {"a", "b"}});
  nn::Parameters parameters(cpu(), model.parameters(), {.trained = false});
  const auto copies = [&](const nn::Parameters::Entry& entry) {
    const Shape& shape = entry.parameter->shape;  // [out, 3, 3, in]
    const std::vector<float> weight = parameters.read(entry);
    std::int64_t count = 0;
    for (std::int64_t o = 0; o < shape[0]; ++o) {
      bool copy = true;
      for (std::int64_t i = 0; i < 9 * shape[3]; ++i)
        copy = copy && weight[static_cast<std::size_t>(o * 9 * shape[3] + i)] == (i == 4 * shape[3] + o ? 1.0f : 0.0f);
      count += copy;
    }
    return count;
  };
  int convolutions = 0;
  for (const bool after : {false, true}) {
    if (after) train::copy_channels(parameters);
    for (const nn::Parameters::Entry& entry : parameters.entries()) {
      if (entry.parameter->shape.rank() != 4) continue;
      const bool in_a_stage = entry.name.find(".stages.") != std::string::npos;
      const std::int64_t most = std::min(entry.parameter->shape[0], entry.parameter->shape[3]);
      EXPECT_EQ(copies(entry), after && in_a_stage ? most : 0) << entry.name;
      convolutions += in_a_stage;
    }
  }
  EXPECT_EQ(convolutions, 2 * 3);
}

}  // namespace
}  // namespace attend::test
