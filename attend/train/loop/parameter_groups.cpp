#include "attend/train/loop/parameter_groups.h"

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"

namespace attend::train {

bool fits_pattern(std::string_view name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t skipped = star; skipped <= name.size(); ++skipped)
    if (fits_pattern(name.substr(skipped), rest)) return true;
  return false;
}

std::vector<ParameterGroup>::const_iterator group_of(const std::vector<ParameterGroup>& groups, std::string_view name) {
  return std::ranges::find_if(groups, [&](const ParameterGroup& group) { return fits_pattern(name, group.pattern); });
}

std::vector<ParameterRun> learning_runs(nn::Parameters& parameters, const std::vector<ParameterGroup>& groups,
                                        const WeightDecay& decay) {
  std::vector<ParameterRun> runs;
  const auto add = [&](const ParameterRun& next) {
    if (next.count == 0) return;
    const bool goes_on = !runs.empty() && runs.back().begin + runs.back().count == next.begin &&
                         runs.back().rate == next.rate && runs.back().weight_decay == next.weight_decay;
    if (goes_on)
      runs.back().count += next.count;
    else
      runs.push_back(next);
  };
  const std::int64_t all = parameters.gradient().size();
  if (groups.empty()) {
    add({.begin = 0, .count = decay.count, .weight_decay = decay.rate});
    add({.begin = decay.count, .count = all - decay.count});
    return runs;
  }
  std::vector<bool> used(groups.size());
  const auto& entries = parameters.entries();
  for (std::size_t i = 0; i < entries.size() && entries[i].learned(); ++i) {
    const nn::Parameters::Entry& entry = entries[i];
    const auto found = group_of(groups, entry.name);
    ParameterGroup group = found == groups.end() ? ParameterGroup{} : *found;
    if (found != groups.end()) used[static_cast<std::size_t>(found - groups.begin())] = true;
    entry.parameter->value.storage()->differentiable = !group.frozen;
    // Up to the next, with the padding behind it.
    const std::int64_t end = i + 1 < entries.size() && entries[i + 1].learned() ? entries[i + 1].offset : all;
    if (!group.frozen)
      add({.begin = entry.offset,
           .count = end - entry.offset,
           .rate = group.rate,
           .weight_decay = group.weight_decay.value_or(entry.offset < decay.count ? decay.rate : 0)});
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    check(std::isfinite(groups[i].rate) && groups[i].rate >= 0,
          "parameter group '{}': the rate must be 0 or more, not {}", groups[i].pattern, groups[i].rate);
    check(groups[i].weight_decay.value_or(0) >= 0, "parameter group '{}': the weight decay must be 0 or more, not {}",
          groups[i].pattern, groups[i].weight_decay.value_or(0));
    check(used[i], "parameter group '{}': no parameter has such a name, or all that have are another group's",
          groups[i].pattern);
  }
  return runs;
}

}  // namespace attend::train
