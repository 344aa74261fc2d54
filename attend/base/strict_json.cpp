#include "attend/base/strict_json.h"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "attend/base/error.h"

namespace attend {

namespace {

using nlohmann::json;

// Called by the parser for each event: counts the depth, and knows the names of every object that is still open.
class Guard {
 public:
  Guard(std::string_view what, const JsonLimits& limits) : what_(what), limits_(limits) {}

  bool operator()(int, json::parse_event_t event, json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        names_.emplace_back();
        check(static_cast<int>(names_.size()) <= limits_.depth, "{}: the JSON is nested more than {} deep", what_,
              limits_.depth);
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        names_.pop_back();
        break;
      case json::parse_event_t::key: {
        const auto& name = parsed.get_ref<const std::string&>();
        if (!names_.back().insert(name).second) fail("{}: the JSON has {} twice in one object", what_, shown(name));
        break;
      }
      case json::parse_event_t::value:
        break;
    }
    return true;
  }

 private:
  std::string_view what_;
  JsonLimits limits_;
  std::vector<std::unordered_set<std::string>> names_;  // an empty set for an array
};

}  // namespace

json parse_strict_json(std::string_view text, std::string_view what, const JsonLimits& limits) {
  // The parser takes a zero byte for the end of the text, and would let anything follow it.
  const std::size_t zero = text.find('\0');
  check(zero == std::string_view::npos, "{}: not valid JSON at byte {} of {}", what, zero + 1, text.size());
  try {
    return json::parse(text.begin(), text.end(), Guard(what, limits));
  } catch (const json::parse_error& error) {
    // The library's own text quotes the input raw, so only the kind of mistake is taken from it.
    const bool utf8 = std::string_view(error.what()).find("UTF-8") != std::string_view::npos;
    fail("{}: {} at byte {} of {}", what, utf8 ? "bad UTF-8 in the JSON" : "not valid JSON", error.byte, text.size());
  } catch (const json::exception&) {  // a number such as 1e999
    fail("{}: the JSON has a number out of range", what);
  }
}

std::string shown(std::string_view name) {
  constexpr std::size_t kLongest = 120;
  const bool cut = name.size() > kLongest;
  // ensure_ascii: a name cannot put terminal controls into a message; replace: a cut may fall inside a character.
  return json(std::string(name.substr(0, kLongest))).dump(-1, ' ', true, json::error_handler_t::replace) +
         (cut ? "..." : "");
}

}  // namespace attend
