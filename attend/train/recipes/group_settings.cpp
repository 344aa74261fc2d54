#include "attend/train/recipes/group_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/train/loop/layer_decay.h"

namespace attend::train {

namespace {

train::ParameterGroup group_from(const GroupSettings& settings) {
  train::ParameterGroup group{.pattern = settings.match, .rate = settings.learning_rate, .frozen = settings.frozen};
  if (settings.weight_decay >= 0) group.weight_decay = settings.weight_decay;
  return group;
}

[[noreturn]] void fail_for(const std::string& pattern, const std::vector<nn::Parameters*>& parts) {
  std::vector<std::string> names;
  for (const nn::Parameters* part : parts)
    for (const nn::Parameters::Entry& entry : part->entries())
      if (entry.learned()) names.push_back(entry.name);
  const bool fits =
      std::ranges::any_of(names, [&](const std::string& name) { return train::fits_pattern(name, pattern); });
  if (fits) fail("parameter_groups: all that '{}' fits is a group's that stands before it", pattern);
  const std::string nearest = nearest_name(pattern, names);
  fail("freeze or parameter_groups: '{}' fits no parameter; one is called '{}', attend info --tensors lists them all",
       pattern, nearest.empty() ? names.front() : nearest);
}

}  // namespace

std::vector<GroupSettings> with_frozen(const std::vector<std::string>& parts, const std::vector<GroupSettings>& groups,
                                       const std::vector<nn::Parameters*>& weights) {
  const auto is_name = [&](const std::string& part) {
    return std::ranges::any_of(weights, [&](const nn::Parameters* each) {
      return std::ranges::any_of(each->entries(), [&](const auto& entry) { return entry.name == part; });
    });
  };
  std::vector<GroupSettings> all;
  for (const std::string& part : parts)
    all.push_back({.match = part.find('*') != std::string::npos || is_name(part) ? part : part + ".*", .frozen = true});
  all.insert(all.end(), groups.begin(), groups.end());
  return all;
}

void check_groups(const std::vector<GroupSettings>& groups, std::string_view what) {
  for (const GroupSettings& group : groups) {
    check(!group.match.empty(), "{}: a group of 'parameter_groups' needs a 'match', names of parameters", what);
    check(std::isfinite(group.learning_rate) && group.learning_rate >= 0,
          "{}: parameter_groups '{}': 'learning_rate' must be 0 or more, not {}", what, group.match,
          group.learning_rate);
    check(group.weight_decay == -1 || group.weight_decay >= 0,
          "{}: parameter_groups '{}': 'weight_decay' must be -1 (as the run says), 0 or more, not {}", what,
          group.match, group.weight_decay);
  }
}

std::vector<std::vector<train::ParameterGroup>> groups_of(const std::vector<GroupSettings>& settings, float layer_decay,
                                                          const std::vector<nn::Parameters*>& parts) {
  std::vector<train::ParameterGroup> all;
  for (const GroupSettings& group : settings) all.push_back(group_from(group));
  std::vector<bool> used(all.size());
  std::vector<std::vector<train::ParameterGroup>> result;
  for (const nn::Parameters* part : parts) {
    std::vector<bool> used_here(all.size());
    bool learns = false;
    for (const nn::Parameters::Entry& entry : part->entries()) {
      if (!entry.learned()) continue;
      const auto found = train::group_of(all, entry.name);
      if (found != all.end()) used_here[static_cast<std::size_t>(found - all.begin())] = true;
      learns = learns || found == all.end() || !found->frozen;
    }
    check(learns, "parameter_groups: all parameters are frozen, so nothing would be learned");
    std::vector<train::ParameterGroup> groups;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (used_here[i]) used[i] = true, groups.push_back(all[i]);
    result.push_back(layer_decay == 1 ? groups : train::with_layer_decay(part->entries(), groups, layer_decay));
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!used[i]) fail_for(all[i].pattern, parts);
  return result;
}

}  // namespace attend::train
