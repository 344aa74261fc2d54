#include "attend/models/directions.h"

#include <algorithm>
#include <optional>

#include "attend/base/error.h"

namespace attend::models {

namespace {

bool is_language(std::string_view word) {
  return (word.size() == 2 || word.size() == 3) &&
         std::ranges::all_of(word, [](char c) { return c >= 'a' && c <= 'z'; });
}

std::optional<Direction> direction_of(std::string_view source, std::string_view target) {
  if (!is_language(source) || !is_language(target)) return {};
  return Direction{std::string(source), std::string(target)};
}

}  // namespace

std::vector<Direction> directions_of(std::string_view words, std::string_view what) {
  std::vector<Direction> directions;
  for (std::size_t begin = words.find_first_not_of(' '); begin != words.npos;) {
    const std::size_t end = std::min(words.find(' ', begin), words.size());
    const std::string_view word = words.substr(begin, end - begin);
    const std::size_t dash = std::min(word.find('-'), word.size());
    auto direction = direction_of(word.substr(0, dash), word.substr(std::min(dash + 1, word.size())));
    check(direction.has_value(), "{}: directions: '{}' is not of the form en-fr", what, word);
    directions.push_back(std::move(*direction));
    begin = words.find_first_not_of(' ', end);
  }
  return directions;
}

std::vector<Direction> directions_in_name(std::string_view name) {
  const std::size_t last = name.rfind('-');
  if (last == name.npos || last == 0) return {};
  const std::size_t before = name.rfind('-', last - 1), begin = before == name.npos ? 0 : before + 1;
  const auto direction = direction_of(name.substr(begin, last - begin), name.substr(last + 1));
  return direction ? std::vector{*direction} : std::vector<Direction>{};
}

}  // namespace attend::models
