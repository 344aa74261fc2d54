// Names of settings that were changed, which are read until release 0.3: keys of recipes, and, with dashes, flags.
// This is the one table of them; docs/api.md has the rule.
#pragma once

#include <string>
#include <string_view>

#include "attend/base/json_fwd.h"

namespace attend {

// "--score-pictures=5" -> "--score-images=5"; other words stay as they are.
std::string with_current_name(const std::string& word);

// The same for the keys of an object. Throws Error where both names of one setting are given; what (a path) opens the
// message.
Json with_current_names(Json settings, std::string_view what);

}  // namespace attend
