#include "attend/view/attention_json.h"

#include <cmath>
#include <span>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/view/collector.h"

namespace attend::view {

namespace {

// Six digits: what an image can show a hundred times over, at a third of the bytes.
Json rounded(float weight) { return std::round(static_cast<double>(weight) * 1e6) / 1e6; }

// rows x columns, the rows `stride` apart.
Json matrix(const float* weights, std::size_t rows, std::size_t columns, std::size_t stride) {
  Json result = Json::array();
  for (std::size_t r = 0; r < rows; ++r) {
    Json row = Json::array();
    for (std::size_t c = 0; c < columns; ++c) row.push_back(rounded(weights[r * stride + c]));
    result.push_back(std::move(row));
  }
  return result;
}

}  // namespace

Json to_json(const AttentionMap& map) {
  check_map(map);
  return {{"source", map.source},
          {"target", map.target},
          {"weights", matrix(map.weights.data(), map.target.size(), map.source.size(), map.source.size())}};
}

Json heads_to_json(const AttentionWeights& weights, std::int64_t sequence, std::int64_t targets, std::int64_t sources) {
  const Shape& shape = weights.shape;
  check(sequence >= 0 && sequence < shape[0] && targets <= shape[2] && sources <= shape[3],
        "attention: sequence {} of {} x {} in {}", sequence, targets, sources, shape);
  Json heads = Json::array();
  for (std::int64_t h = 0; h < shape[1]; ++h)
    heads.push_back(matrix(weights.values.data() + (sequence * shape[1] + h) * shape[2] * shape[3],
                           static_cast<std::size_t>(targets), static_cast<std::size_t>(sources),
                           static_cast<std::size_t>(shape[3])));
  return heads;
}

}  // namespace attend::view
