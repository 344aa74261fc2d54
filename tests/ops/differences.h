// Central finite differences of a case's reference, in double: what the gradients must be.
#pragma once

#include <gtest/gtest.h>

#include "tests/ops/cases.h"

namespace attend::test {

// Checks gradient, that of input `place` of sum(outputs · output_gradients). Every element of a small input by itself;
// of a large one a sample, and all of them at once along random directions.
testing::AssertionResult gradient_fits(const Case& one, const Arrays& inputs, const Arrays& output_gradients,
                                       std::size_t place, const Array& gradient, double tolerance);

}  // namespace attend::test
