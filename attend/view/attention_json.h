// Attention as JSON, for other programs to draw:
//   {"source": ["I", "am", ..], "target": ["Je", ..], "weights": [[0.9, 0.1, ..], ..]}
// weights has a row for each word of the target. Layers, where asked for, are matrices of all heads by label:
//   "layers": {"decoder.layers.0.multihead_attn": [[[..], ..], ..]}          [head][target][source]
#pragma once

#include <cstdint>

#include "attend/base/json.h"
#include "attend/view/attention_map.h"

namespace attend::view {

struct AttentionWeights;  // collector.h

Json to_json(const AttentionMap& map);
// One sequence of a batch: every head of a layer, cut to its own lengths.
Json heads_to_json(const AttentionWeights& weights, std::int64_t sequence, std::int64_t targets, std::int64_t sources);

}  // namespace attend::view
