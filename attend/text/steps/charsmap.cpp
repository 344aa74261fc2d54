#include "attend/text/steps/charsmap.h"

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"

namespace attend::text {

namespace {

// The parts of a unit.
bool has_leaf(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7FFFFFFFu; }
std::uint32_t label_of(std::uint32_t unit) { return unit & 0x800000FFu; }
std::size_t offset_of(std::uint32_t unit) { return static_cast<std::size_t>(unit >> 10) << ((unit & 0x200u) >> 6); }

// Of a rule's text and of its replacement. Real ones have a few dozen; a damaged file may lead anywhere.
constexpr std::size_t kLongestRule = 256, kLongestReplacement = 1024;

std::uint32_t read_number(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

}  // namespace

Charsmap::Charsmap(std::string_view blob, const std::string& what) {
  if (blob.empty()) return;
  check(blob.size() >= 4, "{}: the normalization rules are damaged", what);
  const std::size_t bytes = read_number(blob, 0);
  check(bytes >= 4 && bytes % 4 == 0 && bytes <= blob.size() - 4, "{}: the normalization rules are damaged", what);
  units_.resize(bytes / 4);
  for (std::size_t i = 0; i < units_.size(); ++i) units_[i] = read_number(blob, 4 + 4 * i);
  replacements_ = blob.substr(4 + bytes);
  // So that every replacement ends, and is text wherever one begins.
  check(replacements_.empty() || replacements_.back() == '\0', "{}: the normalization rules are damaged", what);
  check(!find_invalid_utf8(replacements_), "{}: the normalization rules are not UTF-8", what);
  find_plain();
}

bool Charsmap::step(std::size_t& at, unsigned char byte, std::uint32_t& unit) const {
  at ^= byte;
  if (at >= units_.size()) return false;
  unit = units_[at];
  if (label_of(unit) != byte) return false;
  at ^= offset_of(unit);
  return true;
}

std::optional<Charsmap::Rule> Charsmap::find(std::string_view text, bool first) const {
  if (units_.empty()) return std::nullopt;
  std::optional<Rule> best;
  std::size_t at = offset_of(units_[0]);
  std::uint32_t unit = 0;
  text = text.substr(0, kLongestRule);
  for (std::size_t i = 0; i < text.size() && step(at, static_cast<unsigned char>(text[i]), unit); ++i) {
    if (!has_leaf(unit) || at >= units_.size()) continue;
    const std::size_t value = value_of(units_[at]);
    const bool whole = i + 1 == text.size() || (static_cast<unsigned char>(text[i + 1]) & 0xC0) != 0x80;
    if (value >= replacements_.size() || !whole) continue;  // a damaged file
    if ((static_cast<unsigned char>(replacements_[value]) & 0xC0) == 0x80) continue;
    const std::size_t length = std::string_view(replacements_).substr(value, kLongestReplacement).find('\0');
    if (length == std::string::npos) continue;
    best = Rule{i + 1, std::string_view(replacements_).substr(value, length)};
    if (first) break;
  }
  return best;
}

void Charsmap::find_plain() {
  for (unsigned byte = 0; byte < 128; ++byte) {
    const char text[2] = {static_cast<char>(byte), 0};
    plain_[byte] = !longest({text, 1});
    for (unsigned behind = 0; behind < 128 && plain_[byte]; ++behind) {
      std::size_t at = offset_of(units_[0]);
      std::uint32_t unit = 0;
      const bool goes_on =
          step(at, static_cast<unsigned char>(byte), unit) && step(at, static_cast<unsigned char>(behind), unit);
      plain_[byte] = !goes_on;
    }
  }
}

}  // namespace attend::text
