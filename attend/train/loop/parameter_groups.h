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
  std::string pattern;                     // of names; * stands for anything: "bert.encoder.layer.0.*", "*.bias"
  float rate = 1;                          // times the learning rate
  std::optional<float> weight_decay = {};  // unless told: as the optimiser's options say
  bool frozen = false;                     // no gradient and no update
};

// Part of the flat buffers whose parameters all learn in the same way.
struct ParameterRun {
  std::int64_t begin = 0, count = 0;
  float rate = 1, weight_decay = 0;
};

// What decays unless a group says otherwise: so much of the flat buffers, from the start, by this.
struct WeightDecay {
  std::int64_t count = 0;
  float rate = 0;
};

// All that learns, in order; what is frozen is left out, and from now on has no gradient. The first group whose pattern
// fits a name decides. Throws Error for a group that is nobody's, and for a rate or a decay that is not at least 0.
std::vector<ParameterRun> learning_runs(nn::Parameters& parameters, const std::vector<ParameterGroup>& groups,
                                        const WeightDecay& decay);
// That group; end() when there is none.
std::vector<ParameterGroup>::const_iterator group_of(const std::vector<ParameterGroup>& groups, std::string_view name);

bool fits_pattern(std::string_view name, std::string_view pattern);

}  // namespace attend::train
