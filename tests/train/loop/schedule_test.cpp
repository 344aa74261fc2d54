// Learning rates against the formulas of the papers.
#include "attend/train/loop/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attend::train {
namespace {

// Vaswani et al. 2017, equation 3: width^-0.5 · min(step^-0.5, step · warmup^-1.5).
TEST(Schedule, InverseSquareRootIsThePapers) {
  const InverseSquareRoot rate{.warmup = 4000, .width = 512};
  for (const double step : {1.0, 100.0, 3999.0, 4000.0, 4001.0, 100000.0}) {
    const double paper = std::pow(512, -0.5) * std::min(std::pow(step, -0.5), step * std::pow(4000, -1.5));
    EXPECT_NEAR(rate(static_cast<std::int64_t>(step)), paper, 1e-7 * paper + 1e-12) << step;
  }
  EXPECT_FLOAT_EQ((InverseSquareRoot{.warmup = 10, .width = 8, .peak = 0.5f})(10), 0.5f);
}

TEST(Schedule, CosineGoesFromPeakToFloor) {
  const Cosine rate{.warmup = 10, .steps = 110, .peak = 1, .floor = 0.1f};
  EXPECT_FLOAT_EQ(rate(5), 0.5f);
  EXPECT_FLOAT_EQ(rate(10), 1);
  EXPECT_FLOAT_EQ(rate(60), 0.55f);  // half-way
  EXPECT_NEAR(rate(110), 0.1f, 1e-7);
  EXPECT_NEAR(rate(1000), 0.1f, 1e-7);
}

TEST(Schedule, LinearGoesToNothing) {
  const Linear rate{.warmup = 4, .steps = 24, .peak = 2};
  EXPECT_FLOAT_EQ(rate(2), 1);
  EXPECT_FLOAT_EQ(rate(4), 2);
  EXPECT_FLOAT_EQ(rate(14), 1);
  EXPECT_FLOAT_EQ(rate(24), 0);
}

// Without a warm-up the first step has the whole rate.
TEST(Schedule, NoWarmupIsNoDivisionByZero) {
  EXPECT_TRUE(std::isfinite((InverseSquareRoot{.warmup = 0, .width = 8})(1)));
  EXPECT_TRUE(std::isfinite((Cosine{.warmup = 0, .steps = 10, .peak = 1})(1)));
  EXPECT_TRUE(std::isfinite((Linear{.warmup = 0, .steps = 10, .peak = 1})(1)));
}

}  // namespace
}  // namespace attend::train
