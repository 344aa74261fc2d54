// Every case's results against plain loops in double, in f32 and bf16; recorded, and outside any pass.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "tests/ops/compare.h"
#include "tests/ops/devices.h"
#include "tests/ops/runner.h"

namespace attend::test {
namespace {

class Forward : public testing::TestWithParam<const Case*> {};

void expect_near(const Arrays& actual, const Arrays& expected, double tolerance, const char* how) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    EXPECT_TRUE(near(fmt::format("{} output {}", how, i), actual[i], expected[i], tolerance));
}

TEST_P(Forward, MatchesReference) {
  const Case& one = *GetParam();
  for (DType dtype : kFloats) {
    if (dtype == DType::bf16 && !one.bf16) continue;
    SCOPED_TRACE(name_of(dtype));
    const Arrays inputs = make_inputs(one, dtype), expected = one.reference(inputs);
    const double tolerance = tolerance_of(dtype).forward * one.slack;
    const RunOptions options{.dtype = dtype, .backward = false};
    expect_near(run_case(one, cpu(), inputs, {}, options).outputs, expected, tolerance, "recorded");
    if (one.streams == 0)
      expect_near(run_without_pass(one, cpu(), inputs, dtype), expected, tolerance, "without a pass");
    expect_near(run_case(one, exact_cpu(), inputs, {}, options).outputs, expected, tolerance, "exact products");
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Forward, testing::ValuesIn(every_case()), name_of_case);

}  // namespace
}  // namespace attend::test
