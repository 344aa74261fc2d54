// Every case's gradients against finite differences of its reference in double. In bf16 parameters collect theirs both
// in bf16 and in f32.
#include <gtest/gtest.h>

#include "tests/ops/compare.h"
#include "tests/ops/devices.h"
#include "tests/ops/differences.h"
#include "tests/ops/runner.h"

namespace attend::test {
namespace {

class Backward : public testing::TestWithParam<const Case*> {};

TEST_P(Backward, MatchesDifferences) {
  const Case& one = *GetParam();
  for (DType dtype : kFloats) {
    if (dtype == DType::bf16 && !one.bf16) continue;
    SCOPED_TRACE(name_of(dtype));
    const Arrays inputs = make_inputs(one, dtype);
    const Arrays output_gradients = make_output_gradients(one, one.reference(inputs), dtype);
    const RunResult result = run_case(one, cpu(), inputs, output_gradients, {.dtype = dtype});
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!one.inputs[i].differentiable) continue;
      EXPECT_TRUE(gradient_fits(one, inputs, output_gradients, i, result.gradients[i],
                                tolerance_of(dtype).backward * one.slack));
    }
  }
}

// bf16 weights with f32 gradients: the same as in bf16, without its last rounding.
TEST_P(Backward, CollectsParameterGradientsInF32) {
  const Case& one = *GetParam();
  if (!one.bf16) return;
  const Arrays inputs = make_inputs(one, DType::bf16);
  const Arrays output_gradients = make_output_gradients(one, one.reference(inputs), DType::bf16);
  const RunResult plain = run_case(one, cpu(), inputs, output_gradients, {.dtype = DType::bf16});
  const RunResult wide =
      run_case(one, cpu(), inputs, output_gradients, {.dtype = DType::bf16, .parameters_in_f32 = true});
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_TRUE(near("gradient", wide.gradients[i], plain.gradients[i], 1e-2 * one.slack)) << "input " << i;
}

INSTANTIATE_TEST_SUITE_P(Cpu, Backward, testing::ValuesIn(every_case()), name_of_case);

}  // namespace
}  // namespace attend::test
