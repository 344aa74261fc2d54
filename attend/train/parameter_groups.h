// Parameters that learn otherwise than the rest: more slowly, with or without weight decay, not at all. Chosen by their
// names, so that any part of any model can be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/nn/parameters.h"

namespace attend::train {

struct ParameterGroup {
  std::string pattern;               // of names; * stands for anything: "bert.encoder.layer.0.*", "*.bias"
  float rate = 1;                    // times the learning rate
  std::optional<bool> decayed = {};  // unless told: as the optimiser's options say
  bool frozen = false;               // no gradient and no update
};

// Part of the flat buffers whose parameters all learn in the same way.
struct LearningRun {
  std::int64_t begin = 0, count = 0;
  float rate = 1;
  bool decayed = false;
};

// All that learns, in order; what is frozen is left out, and from now on has no gradient. The first group whose pattern
// fits a name decides. decayed: how much of the buffers, from the start, decays unless a group says otherwise. Throws
// Error for a group that is nobody's, and for a rate that is not at least 0.
std::vector<LearningRun> learning_runs(nn::Parameters& parameters, const std::vector<ParameterGroup>& groups,
                                       std::int64_t decayed);

bool fits_pattern(std::string_view name, std::string_view pattern);

}  // namespace attend::train
