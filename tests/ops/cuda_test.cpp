// CUDA against the CPU, case by case and dtype by dtype: results and gradients.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "tests/ops/compare.h"
#include "tests/ops/devices.h"
#include "tests/ops/runner.h"

namespace attend::test {
namespace {

class Cuda : public testing::TestWithParam<const Case*> {
 protected:
  void SetUp() override {
    if (!cuda()) GTEST_SKIP() << no_cuda();
  }
};

// Gradients of several applications are added, and so is what rounding leaves of a gradient that is 0: of attention to
// a single position, for one.
void expect_near(const RunResult& actual, const RunResult& expected, double tolerance, int applications) {
  ASSERT_EQ(actual.outputs.size(), expected.outputs.size());
  for (std::size_t i = 0; i < actual.outputs.size(); ++i)
    EXPECT_TRUE(near(fmt::format("output {}", i), actual.outputs[i], expected.outputs[i], tolerance));
  for (std::size_t i = 0; i < actual.gradients.size(); ++i)
    EXPECT_TRUE(near(fmt::format("gradient of input {}", i), actual.gradients[i], expected.gradients[i], tolerance,
                     applications * kFloor));
}

TEST_P(Cuda, MatchesCpu) {
  const Case& one = *GetParam();
  for (DType dtype : kFloats) {
    if (dtype == DType::bf16 && !one.bf16) continue;
    const Arrays inputs = make_inputs(one, dtype);
    const Arrays output_gradients = make_output_gradients(one, one.reference(inputs), dtype);
    for (bool twice : {false, true})
      for (bool wide : {false, true}) {
        if (wide && dtype == DType::f32) continue;
        SCOPED_TRACE(
            fmt::format("{}{}{}", name_of(dtype), twice ? ", applied twice" : "", wide ? ", f32 gradients" : ""));
        const RunOptions options{.dtype = dtype, .applications = twice ? 2 : 1, .parameters_in_f32 = wide};
        expect_near(run_case(one, *cuda(), inputs, output_gradients, options),
                    run_case(one, cpu(), inputs, output_gradients, options), tolerance_of(dtype).device * one.slack,
                    options.applications);
      }
  }
}

// No atomics in float: a second run gives the same bits.
TEST_P(Cuda, IsDeterministic) {
  const Case& one = *GetParam();
  for (DType dtype : kFloats) {
    if (dtype == DType::bf16 && !one.bf16) continue;
    SCOPED_TRACE(name_of(dtype));
    const Arrays inputs = make_inputs(one, dtype);
    const Arrays output_gradients = make_output_gradients(one, one.reference(inputs), dtype);
    const RunResult first = run_case(one, *cuda(), inputs, output_gradients, {.dtype = dtype});
    const RunResult second = run_case(one, *cuda(), inputs, output_gradients, {.dtype = dtype});
    for (std::size_t i = 0; i < first.outputs.size(); ++i)
      EXPECT_TRUE(same("output", first.outputs[i], second.outputs[i]));
    for (std::size_t i = 0; i < first.gradients.size(); ++i)
      EXPECT_TRUE(same("gradient", first.gradients[i], second.gradients[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, Cuda, testing::ValuesIn(every_case()), name_of_case);

}  // namespace
}  // namespace attend::test
