#include "attend/view/text_width.h"

#include <algorithm>
#include <array>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"

namespace attend::view {

namespace {

struct Range {
  char32_t first, last;
};

// The blocks whose characters are wide or full-width.
constexpr std::array<Range, 16> kWide = {{{0x1100, 0x115F},
                                          {0x231A, 0x231B},
                                          {0x2E80, 0x303E},
                                          {0x3041, 0x33FF},
                                          {0x3400, 0x4DBF},
                                          {0x4E00, 0x9FFF},
                                          {0xA000, 0xA4CF},
                                          {0xA960, 0xA97F},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE30, 0xFE6F},
                                          {0xFF00, 0xFF60},
                                          {0xFFE0, 0xFFE6},
                                          {0x1F300, 0x1F64F},
                                          {0x1F680, 0x1FAFF},
                                          {0x20000, 0x3FFFD}}};

}  // namespace

std::size_t columns_of(char32_t character) {
  // Marks, joiners and variation selectors.
  if (has_property(character, Property::mark) || (character >= 0x200B && character <= 0x200F) ||
      (character >= 0xFE00 && character <= 0xFE0F))
    return 0;
  const bool wide = std::any_of(kWide.begin(), kWide.end(), [&](const Range& range) {
    return character >= range.first && character <= range.last;
  });
  return wide ? 2 : 1;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c == kInvalidCharacter)
      ++at, ++columns;
    else
      columns += columns_of(c);
  }
  return columns;
}

std::string shortened(std::string_view text, std::size_t columns) {
  check(columns >= 1, "shortened: to {} columns", columns);
  if (columns_of(text) <= columns) return std::string(text);
  std::size_t used = 0, end = 0;
  for (std::size_t at = 0; at < text.size(); end = at) {
    const char32_t c = next_character(text, at);
    if (c == kInvalidCharacter) ++at;
    used += c == kInvalidCharacter ? 1 : columns_of(c);
    if (used > columns - 1) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string printable(std::string_view text) {
  std::string result;
  const std::string valid = replace_invalid_utf8(text);
  for (std::size_t at = 0; at < valid.size();) {
    const char32_t c = next_character(valid, at);
    const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xFFFE || c == 0xFFFF;
    append_utf8(result, control ? U'\uFFFD' : c);
  }
  return result;
}

}  // namespace attend::view
