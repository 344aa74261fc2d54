// Backward kernels that must add to a gradient that is already there.
#include <gtest/gtest.h>

#include "tests/ops/compare.h"
#include "tests/ops/devices.h"
#include "tests/ops/runner.h"

namespace attend::test {
namespace {

class Accumulate : public testing::TestWithParam<const Case*> {};

Array combined(const Array& a, double by, const Array& b) {
  Array sum = a;
  for (std::int64_t i = 0; i < sum.size(); ++i) sum[i] += by * b[i];
  return sum;
}

// Each application draws its own dropout numbers, so the second is also run alone, from where the first one stopped.
TEST_P(Accumulate, TwoApplicationsAddUp) {
  const Case& one = *GetParam();
  for (DType dtype : kFloats) {
    if (dtype == DType::bf16 && !one.bf16) continue;
    SCOPED_TRACE(name_of(dtype));
    const Arrays inputs = make_inputs(one, dtype);
    const Arrays output_gradients = make_output_gradients(one, one.reference(inputs), dtype);
    const RunResult first = run_case(one, cpu(), inputs, output_gradients, {.dtype = dtype});
    const RunResult second = one.streams == 0 ? first
                                              : run_case(one, cpu(), inputs, output_gradients,
                                                         {.dtype = dtype, .skipped_streams = one.streams});
    const RunResult both = run_case(one, cpu(), inputs, output_gradients, {.dtype = dtype, .applications = 2});
    for (std::size_t i = 0; i < inputs.size(); ++i)
      EXPECT_TRUE(near("gradient", both.gradients[i], combined(first.gradients[i], 1, second.gradients[i]),
                       tolerance_of(dtype).forward * one.slack))
          << "input " << i;
  }
}

// A tensor inside the graph that the op and another op read: its gradient may be shared, and must not be spoiled.
TEST_P(Accumulate, SecondConsumerAddsUp) {
  const Case& one = *GetParam();
  for (DType dtype : kFloats) {
    if (dtype == DType::bf16 && !one.bf16) continue;
    SCOPED_TRACE(name_of(dtype));
    const Arrays inputs = make_inputs(one, dtype);
    const Arrays output_gradients = make_output_gradients(one, one.reference(inputs), dtype);
    const RunResult alone = run_case(one, cpu(), inputs, output_gradients, {.dtype = dtype});
    const RunResult mixed = run_case(one, cpu(), inputs, output_gradients, {.dtype = dtype, .second_consumer = true});
    for (std::size_t i = 0; i < inputs.size(); ++i)
      EXPECT_TRUE(near("gradient", mixed.gradients[i],
                       combined(alone.gradients[i], kSecondConsumer, Array(alone.gradients[i].shape, 1)),
                       tolerance_of(dtype).forward * one.slack))
          << "input " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Accumulate, testing::ValuesIn(every_case()), name_of_case);

}  // namespace
}  // namespace attend::test
