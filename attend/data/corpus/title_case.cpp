#include "attend/data/corpus/title_case.h"

#include <algorithm>
#include <array>

namespace attend::data {

namespace {

constexpr std::array<std::string_view, 18> kSmall = {"a",  "an", "and", "as", "at",  "but",  "by",   "for", "from",
                                                     "in", "of", "on",  "or", "the", "with", "into", "nor", "to"};

}  // namespace

std::string title_cased(std::string_view text) {
  if (text.ends_with('.') && !text.ends_with("..")) text.remove_suffix(1);
  std::string out;
  for (bool first = true; !text.empty(); first = false) {
    const std::size_t space = std::min(text.find(' '), text.size() - 1);
    const std::string_view word = text.substr(0, space + 1);
    const std::string_view bare = word.substr(0, word.find_last_not_of(' ') + 1);
    text.remove_prefix(word.size());
    out += word;
    const bool small = std::find(kSmall.begin(), kSmall.end(), bare) != kSmall.end();
    char& letter = out[out.size() - word.size()];
    if ((first || !small) && letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return out;
}

}  // namespace attend::data
