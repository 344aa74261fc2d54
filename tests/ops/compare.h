// The one tolerance table, and comparisons that say where two arrays differ most.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "attend/base/dtype.h"
#include "tests/ops/array.h"

namespace attend::test {

// Allowed difference, relative to the largest value of the tensor.
struct Tolerance {
  double forward = 0;   // a result against the reference in double
  double backward = 0;  // a gradient against its differences
  double device = 0;    // the same number from CUDA and from the CPU
};

// bf16 has 8 bits: a rounded result is off by up to 0.002 of itself, and what was rounded on the way adds to it.
inline Tolerance tolerance_of(DType dtype) {
  if (dtype == DType::bf16) return {.forward = 1e-2, .backward = 2e-2, .device = 2e-2};
  return {.forward = 2e-5, .backward = 5e-5, .device = 5e-5};
}

// Where a tensor is all zeros, what rounding may leave of terms that cancel.
inline constexpr double kFloor = 1e-6;
// |actual - expected| <= tolerance · max|expected| + floor, everywhere; no NaN unless both are.
testing::AssertionResult near(std::string_view what, const Array& actual, const Array& expected, double tolerance,
                              double floor = kFloor);
// Bit for bit.
testing::AssertionResult same(std::string_view what, const Array& actual, const Array& expected);

double largest(const Array& values);

}  // namespace attend::test
