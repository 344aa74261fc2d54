#pragma once

#include <string>
#include <utility>

#include "attend/base/error.h"

namespace attend::cli {

// "en-fr" as {"en", "fr"}: the endings of the two files of a corpus.
inline std::pair<std::string, std::string> language_pair(const std::string& text) {
  const std::size_t dash = text.find('-');
  check(dash != text.npos && dash > 0 && dash + 1 < text.size() && text.find('/') == text.npos,
        "--languages: '{}' is not of the form en-fr", text);
  return {text.substr(0, dash), text.substr(dash + 1)};
}

}  // namespace attend::cli
