// attend train with files and nothing else: looks at the data, times a few real steps, and chooses the settings that
// fit a budget of time (plan.h).
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/train/recipes/automatic/plan.h"
#include "attend/train/recipes/pipeline.h"

namespace attend::train {

struct AutomaticRequest {
  std::string_view task;
  Json settings;  // what the user gave: files, the folder, and whatever shall be as given
  Budget budget = {};
  Training (*training)(const Json& settings, std::string_view what) = nullptr;
};

// Whether these settings, of a task that has a plan, name enough files to look at.
bool can_choose(std::string_view task, const Json& settings);

// The task that data of this kind is for: "translation", "classify"; and the settings that name its files.
Json settings_for(const data::Recognised& data);

// What was found in the files.
data::DataFacts facts_for(std::string_view task, const Json& settings);

// The given settings with those that are chosen, said on messages. Runs a few steps in a folder beside the run's own,
// which is removed again. What was given stays as it was given.
Json automatic_settings(const AutomaticRequest& request, Backend& backend, std::ostream& messages);

// What a run that logged every step took for one, without the first ones, which plan; from its log.jsonl.
Timing timing_from_log(std::string_view log);

}  // namespace attend::train
