// Dropout as a whole: how much it drops, that a step's seed changes it, that each op draws its own numbers, and that
// it does nothing unless the pass records. Which elements go is checked by the cases.
#include <gtest/gtest.h>

#include <cmath>

#include "attend/base/random.h"
#include "attend/ops/activation.h"
#include "attend/ops/norm.h"
#include "attend/tensor/pass.h"
#include "tests/ops/compare.h"
#include "tests/ops/devices.h"
#include "tests/ops/runner.h"

namespace attend::test {
namespace {

constexpr std::int64_t kCount = 100003;

Array dropped(Pass& pass, float rate) {
  return to_array(ops::dropout(pass.input(to_tensor(pass.backend(), Array({kCount}, 1), DType::f32)), rate));
}

TEST(Dropout, DropsAtItsRate) {
  Pass pass(cpu(), {.recording = true});
  for (float rate : {0.01f, 0.1f, 0.5f, 0.9f}) {
    pass.begin({.seed = 7});
    const Array y = dropped(pass, rate);
    std::int64_t zeros = 0;
    for (double value : y.values) {
      zeros += value == 0;
      ASSERT_TRUE(value == 0 || value == dropout_scale(rate)) << value;
    }
    // Five standard deviations of so many coin tosses.
    const double expected = rate * kCount, room = 5 * std::sqrt(kCount * rate * (1 - rate));
    EXPECT_NEAR(static_cast<double>(zeros), expected, room) << "rate " << rate;
  }
}

// The share of equal zeros of two independent draws at 1/2 is 1/4.
double overlap(const Array& a, const Array& b) {
  std::int64_t both = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) both += a[i] == 0 && b[i] == 0;
  return static_cast<double>(both) / static_cast<double>(a.size());
}

TEST(Dropout, ChangesWithTheSeedOnly) {
  Pass pass(cpu(), {.recording = true});
  pass.begin({.seed = 1});
  const Array first = dropped(pass, 0.5f);
  pass.begin({.seed = 2});
  const Array second = dropped(pass, 0.5f);
  pass.begin({.seed = 1});
  const Array again = dropped(pass, 0.5f);
  EXPECT_TRUE(same("the same seed", again, first));
  EXPECT_NEAR(overlap(first, second), 0.25, 0.01);
  pass.begin({.seed = std::uint64_t{1} << 40});  // the upper word counts too
  EXPECT_NEAR(overlap(first, dropped(pass, 0.5f)), 0.25, 0.01);
}

TEST(Dropout, DrawsAnewInEachOp) {
  Pass pass(cpu(), {.recording = true});
  pass.begin({.seed = 1});
  const Array first = dropped(pass, 0.5f), second = dropped(pass, 0.5f);
  EXPECT_NEAR(overlap(first, second), 0.25, 0.01);
}

TEST(Dropout, SetSeedTakesEffectWithoutBegin) {
  Pass pass(cpu(), {.recording = true});
  pass.begin({.seed = 1});
  pass.set_seed(9);
  const Array changed = dropped(pass, 0.5f);
  pass.begin({.seed = 9});
  EXPECT_TRUE(same("the new seed", changed, dropped(pass, 0.5f)));
}

TEST(Dropout, DoesNothingWithoutRecording) {
  Pass pass(cpu());
  pass.begin({.seed = 1});
  EXPECT_TRUE(same("evaluation", dropped(pass, 0.5f), Array({kCount}, 1)));
  const Tensor outside = to_tensor(cpu(), Array({5}, 1), DType::f32);
  EXPECT_EQ(ops::dropout(outside, 0.5f).storage(), outside.storage());
}

}  // namespace
}  // namespace attend::test
