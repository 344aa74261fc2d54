#include "attend/view/collector.h"

#include "attend/base/error.h"

namespace attend::view {

std::vector<float> AttentionWeights::matrix(std::int64_t batch, std::int64_t head) const {
  const std::int64_t heads = shape[1], size = shape[2] * shape[3];
  check(batch >= 0 && batch < shape[0] && head < heads, "attention: sequence {} head {} of {}", batch, head, shape);
  std::vector<float> result(static_cast<std::size_t>(size), 0.0f);
  const std::int64_t first = head < 0 ? 0 : head, last = head < 0 ? heads : head + 1;
  for (std::int64_t h = first; h < last; ++h)
    for (std::int64_t i = 0; i < size; ++i)
      result[static_cast<std::size_t>(i)] +=
          values[static_cast<std::size_t>((batch * heads + h) * size + i)] / static_cast<float>(last - first);
  return result;
}

void Collector::attention(std::string_view label, const Tensor& weights) {
  if (!only_.empty() && label != only_) return;
  weights_[std::string(label)] = {weights.shape(), download(weights)};
}

const AttentionWeights& Collector::at(const std::string& label) const {
  const auto found = weights_.find(label);
  check(found != weights_.end(), "attention: no layer called '{}' was seen", label);
  return found->second;
}

}  // namespace attend::view
