#include "attend/base/ranking.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attend {

void softmax(std::span<float> values) {
  if (values.empty()) return;
  const float most = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (float& value : values) sum += value = std::exp(value - most);
  for (float& value : values) value = static_cast<float>(value / sum);
}

std::vector<std::size_t> largest(std::span<const float> values, std::int64_t count) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto kept = std::min(order.size(), static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
      [&](std::size_t a, std::size_t b) { return values[a] != values[b] ? values[a] > values[b] : a < b; });
  order.resize(kept);
  return order;
}

}  // namespace attend
