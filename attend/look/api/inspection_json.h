// What an inspector saw, as the JSON of docs/look.md.
#pragma once

#include <string>

#include "attend/base/json.h"
#include "attend/look/inspect/inspect.h"

namespace attend::look {

// As text: a page of weights is written ten times as fast as through a tree of values.
// start: what a translator's decoder reads first.
std::string inspection_text(const Inspection& inspection, const std::string& start);

// {"stack", "kind", "layer", "heads"}
Json place_json(const AttentionPlace& place, std::int64_t heads);

// UTF-8 whatever the strings are.
std::string dumped(const Json& json);

}  // namespace attend::look
