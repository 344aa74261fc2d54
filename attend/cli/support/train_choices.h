// attend train where only files are given: which task they are for, and whether the settings are chosen automatically
// (train/recipes/automatic).
#pragma once

#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/train/recipes/automatic/automatic.h"

namespace attend::cli {

// A path on the command line that is a recipe, and not data.
bool is_recipe(const std::vector<std::string>& paths);

// The settings that name data which was given without flags, with the task it is for. Flags go before: given.
Json settings_of_data(const std::vector<std::string>& paths, const Json& given);

struct AutomaticFlags {
  bool automatic = false, quick = false, thorough = false;
};
// Whether the settings are chosen: by --auto, --quick and --thorough, or since no flag says how to train.
bool chooses_settings(const AutomaticFlags& flags, const std::string& task, const Json& settings);
train::Budget budget_of(const AutomaticFlags& flags, const Json& settings);

// Throws Error for a file that cannot be opened, with the name of its flag.
void check_files(const Json& settings);

// The best and the worst of the validation data, for the end of a run; "" where there are none.
std::string examples_text(const train::BestAndWorst& examples);

}  // namespace attend::cli
