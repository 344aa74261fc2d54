#include "tests/ops/differences.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "attend/base/random.h"
#include "tests/ops/compare.h"

namespace attend::test {

namespace {

// Far above the rounding of doubles, far below any curvature: a slope is good to 1e-9.
constexpr double kStep = 1e-6;
constexpr std::int64_t kElements = 24, kElementsOfLarge = 4;
constexpr std::int64_t kLarge = 6000;  // elements of all inputs together
constexpr int kDirections = 2;
constexpr double kDifferenceFloor = 1e-6;

class Differences {
 public:
  Differences(const Case& one, const Arrays& inputs, const Arrays& output_gradients, std::size_t place)
      : case_(one), inputs_(inputs), output_gradients_(output_gradients), place_(place) {}

  // The slope along a direction: by[i] is how far element i moves.
  double along(const std::vector<std::pair<std::int64_t, double>>& direction) {
    const double above = moved(direction, kStep), below = moved(direction, -kStep);
    return (above - below) / (2 * kStep);
  }

 private:
  double moved(const std::vector<std::pair<std::int64_t, double>>& direction, double step) {
    Array& input = inputs_[place_];
    const std::vector<double> before = input.values;
    for (const auto& [i, by] : direction) input[i] += step * by;
    const Arrays outputs = case_.reference(inputs_);
    input.values = before;
    double sum = 0;
    for (std::size_t o = 0; o < outputs.size(); ++o)
      for (std::int64_t i = 0; i < output_gradients_[o].size(); ++i) sum += outputs[o][i] * output_gradients_[o][i];
    return sum;
  }

  const Case& case_;
  Arrays inputs_;
  const Arrays& output_gradients_;
  std::size_t place_;
};

// Some indices below size, all different when size is small.
std::vector<std::int64_t> sample(std::int64_t size, std::int64_t wanted, std::uint64_t seed) {
  std::vector<std::int64_t> chosen;
  if (size <= wanted)
    for (std::int64_t i = 0; i < size; ++i) chosen.push_back(i);
  else
    for (std::int64_t i = 0; i < wanted; ++i)
      chosen.push_back(i == 0 ? 0 : i == 1 ? size - 1 : random_word(seed, 1, static_cast<std::uint64_t>(i)) % size);
  return chosen;
}

}  // namespace

testing::AssertionResult gradient_fits(const Case& one, const Arrays& inputs, const Arrays& output_gradients,
                                       std::size_t place, const Array& gradient, double tolerance) {
  Differences differences(one, inputs, output_gradients, place);
  std::int64_t total = 0;
  for (const Array& input : inputs) total += input.size();
  const std::int64_t size = gradient.size(), wanted = total > kLarge ? kElementsOfLarge : kElements;
  const std::vector<std::int64_t> elements = sample(size, wanted, place);
  std::vector<double> slopes;
  double scale = largest(gradient);
  for (std::int64_t i : elements) {
    slopes.push_back(differences.along({{i, 1.0}}));
    scale = std::max(scale, std::abs(slopes.back()));
  }
  const double allowed = tolerance * scale + kDifferenceFloor;
  for (std::size_t n = 0; n < elements.size(); ++n)
    if (!(std::abs(gradient[elements[n]] - slopes[n]) <= allowed))
      return testing::AssertionFailure() << fmt::format(
                 "gradient of input {} {}: element {} is {} instead of {}: {:.2e} of the largest, {:.2e} allowed",
                 place, gradient.shape.to_string(), elements[n], gradient[elements[n]], slopes[n],
                 std::abs(gradient[elements[n]] - slopes[n]) / scale, tolerance);
  if (size <= wanted) return testing::AssertionSuccess();

  for (int d = 0; d < kDirections; ++d) {
    std::vector<std::pair<std::int64_t, double>> direction;
    double expected = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const double by =
          random_word(place, static_cast<std::uint32_t>(2 + d), static_cast<std::uint64_t>(i)) & 1 ? 1 : -1;
      direction.emplace_back(i, by);
      expected += by * gradient[i];
    }
    // The errors of many elements mostly cancel.
    const double slope = differences.along(direction), room = allowed * std::sqrt(static_cast<double>(size));
    if (!(std::abs(slope - expected) <= room))
      return testing::AssertionFailure() << fmt::format(
                 "gradient of input {} {}: along a random direction it says {}, differences say {} (allowed {:.2e})",
                 place, gradient.shape.to_string(), expected, slope, room);
  }
  return testing::AssertionSuccess();
}

}  // namespace attend::test
