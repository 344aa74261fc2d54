// Settings of parameters that learn otherwise than the rest, for every task: 'parameter_groups' and 'layer_decay' of a
// recipe, as the optimisers of its parts take them (train::ParameterGroup).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attend/nn/parameters.h"
#include "attend/train/loop/parameter_groups.h"

namespace attend::train {

struct GroupSettings {
  std::string match;
  float learning_rate = 1, weight_decay = -1;
  bool frozen = false;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("match", match, "Parameter names; * matches anything: bert.encoder.layer.0.*");
    v("learning_rate", learning_rate, "Learning rate, relative to the run's.");
    v("weight_decay", weight_decay, "Weight decay of the group; -1 uses the run's.");
    v("frozen", frozen, "Keep these parameters fixed.");
  }
};

// Groups that freeze these parts, in front of the others: a name of a parameter, the beginning of several up to a dot,
// or a pattern with a *.
std::vector<GroupSettings> with_frozen(const std::vector<std::string>& parts, const std::vector<GroupSettings>& groups,
                                       const std::vector<nn::Parameters*>& weights);

// Throws Error naming a value that makes no sense; what opens the message.
void check_groups(const std::vector<GroupSettings>& groups, std::string_view what);

// The groups of each part of a model. Throws Error naming a pattern that no parameter of any part is left for, and when
// nothing of a part would learn.
std::vector<std::vector<train::ParameterGroup>> groups_of(const std::vector<GroupSettings>& settings, float layer_decay,
                                                          const std::vector<nn::Parameters*>& parts);

}  // namespace attend::train
