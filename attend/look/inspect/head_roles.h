// What a head does, measured: the pattern that gets the largest share of its weight. Clark et al. 2019 ("What Does BERT
// Look At?") and Voita et al. 2019 name heads this way. The share of a pattern is the mean, over the rows to which it
// can apply, of the weight on the cells that belong to it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "attend/look/inspect/inspect.h"

namespace attend::look {

struct HeadRole {
  std::string role = {};   // one of those below; empty: no pattern has a share of kLeastShare
  double share = 0;        // of the role, or of the largest pattern where no role is named
  std::string token = {};  // a sink: the token that gets the weight
};

// previous, next, same: the token before, the token after, and tokens with the same text (the row's own place
// included). first, end: one token at the edge of the text. punctuation. aligned, aligned-previous: of cross-attention,
// the source token that belongs to the token being written, and the one that belongs to the token written before it.
inline constexpr double kLeastShare = 0.4;

// One head: weights [rows, columns] and the tokens of both sides.
struct HeadWeights {
  std::span<const float> weights;
  std::span<const std::string> rows, columns;
  bool self = true;  // rows and columns are the same tokens
  bool causal = false;
  // Cross-attention: the source token that belongs to each row; -1: none. Empty: not measured.
  std::span<const std::ptrdiff_t> alignment = {};
};
HeadRole head_role(const HeadWeights& head);

// Roles of all heads: one list for each entry of inspection.attention. start: what a translator's decoder reads first.
std::vector<std::vector<HeadRole>> head_roles(const Inspection& inspection, const std::string& start);

// The source token of each row by the mean of all heads of all cross-attention layers, the end of the source left out.
std::vector<std::ptrdiff_t> mean_alignment(const Inspection& inspection);

}  // namespace attend::look
