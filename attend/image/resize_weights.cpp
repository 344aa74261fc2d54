#include "attend/image/resize_weights.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attend/base/error.h"

namespace attend::image {

namespace {

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

// Keys' cubic with a = -0.5 (1981, "Cubic convolution interpolation").
double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

double filter_value(Filter filter, double x) {
  switch (filter) {
    case Filter::box:
      return x > -0.5 && x <= 0.5 ? 1 : 0;
    case Filter::bilinear:
      return std::max(0.0, 1 - std::abs(x));
    case Filter::hamming:
      // with Pillow's constants, which are in single precision
      return std::abs(x) >= 1 ? 0 : sinc(x) * (0.54f + 0.46f * std::cos(x * std::numbers::pi));
    case Filter::bicubic:
      return cubic(x);
    case Filter::lanczos:
      return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
    case Filter::nearest:
      break;
  }
  fail("resize: nearest has no weights");
}

std::int32_t fixed(double weight, int bits) {
  const double scaled = weight * (1 << bits);
  return static_cast<std::int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

// The most bits with which the largest weight still fits into 16.
int bits_for(const std::vector<double>& weights) {
  double largest = weights[0];
  for (const double weight : weights) largest = std::max(largest, weight);
  int bits = 0;
  while (bits < kWeightBits && static_cast<int>(0.5 + largest * (1 << (bits + 1))) < 1 << 15) ++bits;
  return bits;
}

}  // namespace

double filter_support(Filter filter) {
  switch (filter) {
    case Filter::nearest:
      return 0;
    case Filter::box:
      return 0.5;
    case Filter::bilinear:
    case Filter::hamming:
      return 1;
    case Filter::bicubic:
      return 2;
    case Filter::lanczos:
      return 3;
  }
  return 0;
}

Weights weights_of(const Axis& axis, Filter filter, Precision precision) {
  const double scale = static_cast<double>(axis.end - axis.begin) / axis.target;
  const double stretch = std::max(scale, 1.0), support = filter_support(filter) * stretch;
  const int most = static_cast<int>(std::ceil(support)) * 2 + 1;
  const bool adapted = precision == Precision::torchvision && (filter == Filter::bilinear || filter == Filter::bicubic);
  // The longest weight of all decides, also where only some are wanted.
  const int first = adapted ? 0 : axis.first, last = adapted ? axis.target : axis.last;
  Weights weights;
  weights.stride = static_cast<std::size_t>(most);
  std::vector<double> values(static_cast<std::size_t>(last - first) * weights.stride);
  for (int i = first; i < last; ++i) {
    const double centre = axis.begin + (i + 0.5) * scale;
    const int from = std::max(0, static_cast<int>(centre - support + 0.5));
    const int taps = std::min({axis.source, static_cast<int>(centre + support + 0.5), from + most}) - from;
    double* const out = values.data() + static_cast<std::size_t>(i - first) * weights.stride;
    double sum = 0;
    for (int t = 0; t < taps; ++t) sum += out[t] = filter_value(filter, (t + from - centre + 0.5) * (1.0 / stretch));
    for (int t = 0; t < taps && sum != 0; ++t) out[t] /= sum;
    if (i >= axis.first && i < axis.last) weights.taps.push_back({from, taps});
  }
  weights.bits = adapted ? bits_for(values) : kWeightBits;
  weights.values.resize(weights.taps.size() * weights.stride);
  const double* const wanted = values.data() + static_cast<std::size_t>(axis.first - first) * weights.stride;
  for (std::size_t i = 0; i < weights.values.size(); ++i) weights.values[i] = fixed(wanted[i], weights.bits);
  return weights;
}

GroupedWeights grouped(const Weights& weights, int source) {
  int most = 1;
  for (const Weights::Taps& taps : weights.taps) most = std::max(most, taps.count);
  GroupedWeights groups;
  groups.bits = weights.bits;
  groups.groups = (most + kTapGroup - 1) / kTapGroup;
  const std::size_t stride = static_cast<std::size_t>(groups.groups) * kGroupStride;
  groups.values.resize(weights.taps.size() * stride);
  for (std::size_t i = 0; i < weights.taps.size(); ++i) {
    // At the right edge the groups begin further left, where they have zeros.
    const auto [from, count] = weights.taps[i];
    const int begin = std::max(0, std::min(from, source - kTapGroup * groups.groups));
    groups.from.push_back(begin);
    for (int t = 0; t < count; ++t) {
      const int at = from - begin + t;
      groups.values[i * stride + static_cast<std::size_t>(at / kTapGroup * kGroupStride + at % kTapGroup)] =
          weights.of(i)[t];
    }
  }
  return groups;
}

}  // namespace attend::image
