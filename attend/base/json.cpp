#include "attend/base/json.h"

#include <nlohmann/json.hpp>

#include "attend/base/error.h"
#include "attend/base/files.h"

namespace attend {

Json parse_json(std::string_view text, std::string_view what) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    // The parser's own text is long and opens with its exception's number; the position says enough.
    fail("'{}' is not JSON: wrong at byte {} of {}", what, error.byte, text.size());
  }
}

Json read_json(const std::filesystem::path& path) { return parse_json(read_file(path), path.string()); }

}  // namespace attend
