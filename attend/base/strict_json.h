// JSON from strangers: what parse_json takes, less deep nesting and names given twice. Objects are sorted maps, so a
// header with a million names is not a million linear searches.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace attend {

struct JsonLimits {
  int depth = 64;  // objects and arrays inside one another
};

// Throws Error that begins with what (a path) and says at which byte the text stops being JSON.
nlohmann::json parse_strict_json(std::string_view text, std::string_view what, const JsonLimits& limits = {});

// A name from a file as a message may show it: in quotes, control characters escaped, long ones cut.
std::string shown(std::string_view name);

}  // namespace attend
