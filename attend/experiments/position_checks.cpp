#include "attend/experiments/position_checks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attend/base/error.h"
#include "attend/base/random.h"

namespace attend::experiments {

namespace {

// Vaswani et al. 2017, section 3.5.
std::vector<double> sinusoids(std::int64_t length, std::int64_t width) {
  std::vector<double> table;
  for (std::int64_t t = 0; t < length; ++t)
    for (std::int64_t i = 0; i < width; ++i) {
      const double angle =
          static_cast<double>(t) / std::pow(10000.0, static_cast<double>(i / 2 * 2) / static_cast<double>(width));
      table.push_back(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  return table;
}

// Lowest bit first: 0000, 1000, 0100, 1100, ..
std::vector<double> counter(std::int64_t length, std::int64_t bits) {
  std::vector<double> table;
  for (std::int64_t t = 0; t < length; ++t)
    for (std::int64_t i = 0; i < bits; ++i) table.push_back(static_cast<double>(t >> i & 1));
  return table;
}

std::vector<double> numbers(std::int64_t length, double step) {
  std::vector<double> table;
  for (std::int64_t t = 0; t < length; ++t) table.push_back(static_cast<double>(t) * step);
  return table;
}

std::vector<double> drawn(std::int64_t length, std::int64_t width) {
  std::vector<double> table;
  for (std::int64_t i = 0; i < length * width; ++i)
    table.push_back(2 * static_cast<double>(to_unit(random_word(1, 1, static_cast<std::uint64_t>(i)))) - 1);
  return table;
}

double distance(const PositionEncoding& one, std::int64_t a, std::int64_t b) {
  double sum = 0;
  for (std::int64_t i = 0; i < one.width; ++i) {
    const double difference =
        one.table[static_cast<std::size_t>(a * one.width + i)] - one.table[static_cast<std::size_t>(b * one.width + i)];
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

PositionCheck checked(const PositionEncoding& one, const PositionOptions& options) {
  constexpr double kEqual = 1e-9, kBound = 1 + kEqual;
  constexpr double kFar = std::numeric_limits<double>::max();
  PositionCheck result{.name = one.name, .nearest = kFar, .least = kFar};
  for (std::int64_t a = 0; a < options.length; ++a) {
    for (std::int64_t b = a + 1; b < options.length; ++b)
      result.nearest = std::min(result.nearest, distance(one, a, b));
    if (a + options.offset >= options.length) continue;
    const double far = distance(one, a, a + options.offset);
    result.least = std::min(result.least, far), result.most = std::max(result.most, far);
  }
  for (const double value : one.longer_table.empty() ? one.table : one.longer_table)
    result.largest = std::max(result.largest, std::abs(value));
  result.changes =
      !one.longer_table.empty() && !std::equal(one.table.begin(), one.table.end(), one.longer_table.begin());
  result.unique = result.nearest > kEqual;
  result.bounded = result.largest <= kBound;
  result.consistent = !result.changes && result.most - result.least < kEqual * std::max(1.0, result.most);
  result.longer = !one.longer_table.empty();
  return result;
}

}  // namespace

std::vector<PositionEncoding> position_encodings(const PositionOptions& options) {
  check(options.length >= 4 && options.length <= 1024, "positions: a length of 4 to 1024, not {}", options.length);
  check(options.width >= 2 && options.width <= 1024 && options.width % 2 == 0,
        "positions: an even width of 2 to 1024, not {}", options.width);
  check(options.offset >= 1 && options.offset < options.length, "positions: an offset of 1 to {}, not {}",
        options.length - 1, options.offset);
  const std::int64_t length = options.length, width = options.width;
  std::int64_t bits = 1;
  while ((std::int64_t{1} << bits) < 2 * length) ++bits;
  return {{"number: t", 1, numbers(length, 1), numbers(2 * length, 1)},
          {"fraction: t / length", 1, numbers(length, 1 / static_cast<double>(length)),
           numbers(2 * length, 1 / static_cast<double>(2 * length))},
          {"binary counter", bits, counter(length, bits), counter(2 * length, bits)},
          {"learned table", width, drawn(length, width), {}},
          {"sinusoids", width, sinusoids(length, width), sinusoids(2 * length, width)}};
}

std::vector<PositionCheck> check_positions(const PositionOptions& options) {
  std::vector<PositionCheck> checks;
  for (const PositionEncoding& one : position_encodings(options)) checks.push_back(checked(one, options));
  return checks;
}

view::Figure positions_figure(const PositionOptions& options) {
  constexpr double kCell = 9, kTop = 40, kGap = 60, kMargin = 40, kTitle = 130;
  view::Figure figure{.width = kMargin, .height = kTop + kCell * static_cast<double>(options.length) + 30};
  for (const PositionEncoding& one : position_encodings(options)) {
    const bool waves = one.name == "sinusoids";
    if (!waves && one.name != "binary counter") continue;
    const double left = figure.width;
    figure.texts.push_back({.x = left, .y = 24, .text = one.name, .size = 15, .bold = true});
    for (std::int64_t t = 0; t < options.length; ++t) {
      const double y = kTop + kCell * static_cast<double>(t);
      if (t % 8 == 0)
        figure.texts.push_back({.x = left - 6,
                                .y = y + kCell,
                                .text = std::to_string(t),
                                .size = 10,
                                .anchor = view::Figure::Anchor::end});
      for (std::int64_t i = 0; i < one.width; ++i) {
        const double value = one.table[static_cast<std::size_t>(t * one.width + i)];
        figure.rects.push_back({.x = left + kCell * static_cast<double>(i),
                                .y = y,
                                .width = kCell,
                                .height = kCell,
                                .weight = waves ? (value + 1) / 2 : value});
      }
    }
    figure.texts.push_back({.x = left, .y = figure.height - 8, .text = "dimension", .size = 12});
    figure.width = left + std::max(kTitle, kCell * static_cast<double>(one.width)) + kGap;
  }
  figure.width -= kGap - kMargin / 2;
  return figure;
}

}  // namespace attend::experiments
