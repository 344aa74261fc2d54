#include "attend/base/ranking.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace attend {
namespace {

TEST(Ranking, ProbabilitiesOfScoresHoweverLarge) {
  for (const float shift : {0.0f, 1000.0f, -1000.0f}) {
    std::vector<float> values = {shift, shift + 1, shift + 2};
    softmax(values);
    const double sum = 1 + std::exp(1.0) + std::exp(2.0);
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(values[static_cast<std::size_t>(i)], std::exp(i) / sum, 1e-6) << shift;
  }
  std::vector<float> none, ruled_out = {0, -std::numeric_limits<float>::infinity()};
  softmax(none);
  softmax(ruled_out);
  EXPECT_EQ(ruled_out, (std::vector<float>{1, 0}));
}

TEST(Ranking, TheLargestComeFirstAndEqualOnesInOrder) {
  const std::vector<float> values = {1, 3, 2, 3};
  EXPECT_EQ(largest(values, 3), (std::vector<std::size_t>{1, 3, 2}));
  EXPECT_EQ(largest(values, 9).size(), 4u);
  EXPECT_TRUE(largest(values, 0).empty() && largest(values, -1).empty() && largest({}, 2).empty());
}

}  // namespace
}  // namespace attend
