#include "attend/train/parameter_groups.h"

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

std::vector<LearningRun> learning_runs(nn::Parameters& parameters, const std::vector<ParameterGroup>& groups,
                                       std::int64_t decayed) {
  std::vector<LearningRun> runs;
  const auto add = [&](const LearningRun& next) {
    if (next.count == 0) return;
    const bool goes_on = !runs.empty() && runs.back().begin + runs.back().count == next.begin &&
                         runs.back().rate == next.rate && runs.back().decayed == next.decayed;
    if (goes_on)
      runs.back().count += next.count;
    else
      runs.push_back(next);
  };
  const std::int64_t all = parameters.gradient().size();
  if (groups.empty()) {
    add({.begin = 0, .count = decayed, .decayed = true});
    add({.begin = decayed, .count = all - decayed});
    return runs;
  }
  std::vector<bool> used(groups.size());
  const auto& entries = parameters.entries();
  for (std::size_t i = 0; i < entries.size() && entries[i].learned(); ++i) {
    const nn::Parameters::Entry& entry = entries[i];
    const auto found = std::ranges::find_if(
        groups, [&](const ParameterGroup& group) { return fits_pattern(entry.name, group.pattern); });
    ParameterGroup group = found == groups.end() ? ParameterGroup{} : *found;
    if (found != groups.end()) used[static_cast<std::size_t>(found - groups.begin())] = true;
    entry.parameter->value.storage()->differentiable = !group.frozen;
    // Up to the next, with the padding behind it.
    const std::int64_t end = i + 1 < entries.size() && entries[i + 1].learned() ? entries[i + 1].offset : all;
    if (!group.frozen)
      add({.begin = entry.offset,
           .count = end - entry.offset,
           .rate = group.rate,
           .decayed = group.decayed.value_or(entry.offset < decayed)});
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    check(std::isfinite(groups[i].rate) && groups[i].rate >= 0,
          "parameter group '{}': the rate must be 0 or more, not {}", groups[i].pattern, groups[i].rate);
    check(used[i], "parameter group '{}': no parameter has such a name, or all that have are another group's",
          groups[i].pattern);
  }
  return runs;
}

}  // namespace attend::train
