// The same bits from one, two and three threads.
#include <gtest/gtest.h>

#include <memory>

#include <fmt/core.h>

#include "tests/ops/compare.h"
#include "tests/ops/devices.h"
#include "tests/ops/runner.h"

namespace attend::test {
namespace {

class Threads : public testing::TestWithParam<const Case*> {};

Backend& with_threads(int threads) {
  static const std::unique_ptr<Backend> kBackends[] = {
      open_backend("cpu", {.threads = 1}), open_backend("cpu", {.threads = 2}), open_backend("cpu", {.threads = 3})};
  return *kBackends[threads - 1];
}

TEST_P(Threads, DoNotChangeResults) {
  const Case& one = *GetParam();
  for (DType dtype : kFloats) {
    if (dtype == DType::bf16 && !one.bf16) continue;
    const Arrays inputs = make_inputs(one, dtype);
    const Arrays output_gradients = make_output_gradients(one, one.reference(inputs), dtype);
    const RunResult expected = run_case(one, with_threads(1), inputs, output_gradients, {.dtype = dtype});
    for (int threads : {2, 3}) {
      SCOPED_TRACE(fmt::format("{}, {} threads", name_of(dtype), threads));
      const RunResult actual = run_case(one, with_threads(threads), inputs, output_gradients, {.dtype = dtype});
      for (std::size_t i = 0; i < expected.outputs.size(); ++i)
        EXPECT_TRUE(same("output", actual.outputs[i], expected.outputs[i]));
      for (std::size_t i = 0; i < expected.gradients.size(); ++i)
        EXPECT_TRUE(same("gradient", actual.gradients[i], expected.gradients[i]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Threads, testing::ValuesIn(every_case()), name_of_case);

}  // namespace
}  // namespace attend::test
