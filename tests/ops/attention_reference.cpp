#include "tests/ops/attention_reference.h"

#include <algorithm>
#include <cmath>

#include "tests/ops/cases.h"

namespace attend::test {

bool AttentionReference::sees(const Sequence& sequence, std::int64_t t, std::int64_t s) const {
  const std::int64_t place = t + sequence.keys - sequence.queries;
  if (s >= sequence.visible || (causal && s > place)) return false;
  if (!sequence.seen_from.empty() && t < sequence.seen_from[static_cast<std::size_t>(s)]) return false;
  if (s < globals || (globals > 0 && place < globals)) return true;
  for (const std::int64_t marked : sequence.marked)
    if (s == marked || place == marked) return true;
  return (before < 0 || s >= place - before) && (after < 0 || s <= place + after);
}

std::vector<double> AttentionReference::weights(const Array& q, const Array& k, std::size_t b, std::int64_t h,
                                                std::int64_t t) const {
  const Sequence& sequence = sequences[b];
  const std::int64_t head = q.width() / heads;
  const double factor = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(head));
  std::vector<double> weight(static_cast<std::size_t>(sequence.keys), 0.0);
  double largest = -INFINITY, sum = 0;
  std::vector<std::size_t> seen;
  for (std::int64_t s = 0; s < sequence.keys; ++s) {
    if (!sees(sequence, t, s)) continue;
    double score = 0;
    for (std::int64_t d = h * head; d < (h + 1) * head; ++d)
      score += q.at(sequence.query_row + t, d) * k.at(sequence.key_row + s, d);
    score *= factor;
    if (bias) score += (*bias)(static_cast<std::int64_t>(b) % bias->dim(0), h, t, s);
    weight[static_cast<std::size_t>(s)] = score;
    largest = std::max(largest, score);
    seen.push_back(static_cast<std::size_t>(s));
  }
  for (std::size_t s : seen) {
    double& value = weight[s];
    value = std::exp(value - largest);
    sum += value;
  }
  for (double& value : weight) value = sum > 0 ? value / sum : 0;
  return weight;
}

Array AttentionReference::operator()(const Array& q, const Array& k, const Array& v) const {
  Array y(q.shape);
  const std::int64_t head = q.width() / heads;
  for (std::size_t b = 0; b < sequences.size(); ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t t = 0; t < sequences[b].queries; ++t) {
        const std::vector<double> weight = weights(q, k, b, h, t);
        for (std::int64_t s = 0; s < sequences[b].keys; ++s) {
          double share = weight[static_cast<std::size_t>(s)];
          // Each row of weights begins a block of draws.
          const std::int64_t element =
              ((static_cast<std::int64_t>(b) * heads + h) * max_queries + t) * ((max_keys + 7) / 8 * 8) + s;
          if (dropout > 0) share *= dropout_factor(dropout, 0, element);
          for (std::int64_t d = h * head; d < (h + 1) * head; ++d)
            y.at(sequences[b].query_row + t, d) += share * v.at(sequences[b].key_row + s, d);
        }
      }
  return y;
}

}  // namespace attend::test
