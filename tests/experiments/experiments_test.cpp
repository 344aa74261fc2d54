// The experiments behind the formulas, against what probability theory and arithmetic say.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "attend/base/error.h"
#include "attend/experiments/position_checks.h"
#include "attend/experiments/scaling.h"

namespace attend::experiments {
namespace {

// Scores with variance 1 have a softmax of entropy ln n - 1/2 in the limit of many keys. Without the division the
// variance is d.
TEST(Scaling, VarianceAndEntropyAsExpected) {
  const auto rows = run_scaling({.widths = {16, 256}, .keys = 2000, .trials = 60});
  for (const ScalingRow& row : rows) {
    EXPECT_NEAR(row.scaled.variance, 1, 0.2);
    EXPECT_NEAR(row.plain.variance / static_cast<double>(row.width), 1, 0.2);
    EXPECT_NEAR(row.scaled.entropy, std::log(2000) - 0.5, 0.1);
    EXPECT_LT(row.plain.entropy, row.scaled.entropy);
  }
  EXPECT_LT(rows[1].plain.entropy, 1);
  EXPECT_GT(rows[1].plain.largest, 0.7);
}

// Two keys have weights p and 1 - p; the norm of the Jacobian is 2 p (1 - p), at most 1/2.
TEST(Scaling, GradientOfTwoKeysIsAtMostOneHalf) {
  const auto rows = run_scaling({.widths = {1, 1024}, .keys = 2, .trials = 500});
  for (const ScalingRow& row : rows) {
    EXPECT_LE(row.scaled.gradient, 0.5);
    EXPECT_LE(row.plain.gradient, 0.5);
  }
  EXPECT_LT(rows[1].plain.gradient, 0.2 * rows[1].scaled.gradient);
}

TEST(Scaling, RefusesWhatMakesNoSense) {
  EXPECT_THROW(run_scaling({.keys = 1}), Error);
  EXPECT_THROW(run_scaling({.widths = {0}}), Error);
  EXPECT_THROW(run_scaling({.trials = 0}), Error);
}

TEST(PositionChecks, TheFourWishes) {
  std::map<std::string, PositionCheck> by_name;
  for (const PositionCheck& one : check_positions({.length = 50, .width = 16, .offset = 5})) by_name[one.name] = one;
  const auto wishes = [&](const char* name) {
    const PositionCheck& one = by_name.at(name);
    return std::vector<bool>{one.unique, one.bounded, one.consistent, one.longer};
  };
  EXPECT_EQ(wishes("number: t"), (std::vector<bool>{true, false, true, true}));
  EXPECT_EQ(wishes("fraction: t / length"), (std::vector<bool>{true, true, false, true}));
  EXPECT_EQ(wishes("binary counter"), (std::vector<bool>{true, true, false, true}));
  EXPECT_EQ(wishes("learned table"), (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(wishes("sinusoids"), (std::vector<bool>{true, true, true, true}));
  EXPECT_NEAR(by_name["number: t"].most, 5, 1e-12);
}

TEST(PositionChecks, CounterCounts) {
  const auto encodings = position_encodings({.length = 4, .width = 2});
  EXPECT_EQ(encodings[2].width, 3);  // eight positions of a text twice as long
  EXPECT_EQ(encodings[2].table, (std::vector<double>{0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0}));
}

TEST(PositionChecks, RefusesWhatMakesNoSense) {
  EXPECT_THROW(check_positions({.length = 2}), Error);
  EXPECT_THROW(check_positions({.width = 3}), Error);
  EXPECT_THROW(check_positions({.length = 8, .offset = 8}), Error);
}

}  // namespace
}  // namespace attend::experiments
