#include "tests/ops/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace attend::test {

double largest(const Array& values) {
  double found = 0;
  for (double value : values.values) found = std::max(found, std::abs(value));
  return found;
}

testing::AssertionResult near(std::string_view what, const Array& actual, const Array& expected, double tolerance,
                              double floor) {
  if (!(actual.shape == expected.shape))
    return testing::AssertionFailure() << what << ": shape " << actual.shape.to_string() << " instead of "
                                       << expected.shape.to_string();
  const double scale = std::max(largest(expected), largest(actual) * 1e-3), allowed = tolerance * scale + floor;
  std::int64_t worst = -1, wrong = 0;
  double worst_difference = 0;
  for (std::int64_t i = 0; i < actual.size(); ++i) {
    const double difference = std::abs(actual[i] - expected[i]);
    if (difference <= allowed || (std::isnan(actual[i]) && std::isnan(expected[i]))) continue;
    ++wrong;
    if (worst < 0 || difference > worst_difference) worst = i, worst_difference = difference;
  }
  if (wrong == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << fmt::format(
             "{} {}: {} of {} elements off; element {} is {} instead of {}: {:.2e} of the largest, {:.2e} allowed",
             what, actual.shape.to_string(), wrong, actual.size(), worst, actual[worst], expected[worst],
             worst_difference / scale, tolerance);
}

testing::AssertionResult same(std::string_view what, const Array& actual, const Array& expected) {
  if (!(actual.shape == expected.shape))
    return testing::AssertionFailure() << what << ": shape " << actual.shape.to_string() << " instead of "
                                       << expected.shape.to_string();
  for (std::int64_t i = 0; i < actual.size(); ++i)
    if (actual[i] != expected[i] && !(std::isnan(actual[i]) && std::isnan(expected[i])))
      return testing::AssertionFailure() << fmt::format("{} {}: element {} is {:.9g} in one and {:.9g} in the other",
                                                        what, actual.shape.to_string(), i, actual[i], expected[i]);
  return testing::AssertionSuccess();
}

}  // namespace attend::test
