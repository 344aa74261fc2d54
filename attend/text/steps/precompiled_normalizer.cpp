#include "attend/text/steps/precompiled_normalizer.h"

#include <algorithm>

#include "attend/base/unicode/unicode.h"
#include "attend/text/json_view.h"

namespace attend::text {

namespace {

std::string decode_base64(const JsonView& json) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string_view text = json.text();
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) json.complain("is not base64");
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xFF));
  }
  return bytes;
}

// Where the grapheme that begins at `at` ends (Unicode standard annex 29), as far as those of five bytes go: marks and
// joiners belong to the character before them, a few signs to the one behind, and a line feed to its carriage return.
std::size_t end_of_grapheme(std::u32string_view text, std::size_t at) {
  const auto extends = [&](std::size_t i) {
    return has_property(text[i], Property::mark) || text[i] == 0x200C || text[i] == 0x200D;
  };
  const auto joins_next = [&](std::size_t i) {
    const char32_t c = text[i];
    return (c >= 0x600 && c <= 0x605) || c == 0x6DD || c == 0x70F || c == 0x890 || c == 0x891 || c == 0x8E2 ||
           c == 0xD4E || c == 0x110BD || c == 0x110CD;
  };
  const auto breaks = [&](std::size_t i) {
    return text[i] < 0x20 || text[i] == 0x7F || text[i] == 0x2028 || text[i] == 0x2029;
  };
  if (text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n') return at + 2;
  std::size_t end = at + 1;
  if (breaks(at)) return end;
  while (end < text.size() && joins_next(end - 1) && !breaks(end)) ++end;
  while (end < text.size() && extends(end)) ++end;
  return end;
}

}  // namespace

PrecompiledNormalizer::PrecompiledNormalizer(const JsonView& json) {
  const JsonView charsmap = json["precompiled_charsmap"];
  try {
    rules_ = Charsmap(decode_base64(charsmap), "it");
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with("it: ")) charsmap.complain("is damaged");
    throw;
  }
}

void PrecompiledNormalizer::apply(AlignedText& text) const {
  constexpr std::size_t kShort = 5;  // bytes
  const std::u32string_view all = text.characters();
  std::vector<ChangedCharacter> changes;
  changes.reserve(all.size());
  std::size_t dropped = 0;
  // `old` characters become a replacement: extra ones are added, missing ones belong to the last one there is.
  const auto replace = [&](std::string_view replacement, std::size_t old) {
    const std::u32string becomes = to_characters(replacement);
    if (becomes.size() > limits::kTextGrowth) check_growth(changes.size() + becomes.size(), all.size());
    for (std::size_t i = 0; i < becomes.size(); ++i) changes.push_back({becomes[i], i < old ? 0 : 1});
    if (becomes.size() >= old) return;
    const std::size_t missing = old - becomes.size();
    if (changes.empty()) {
      dropped += missing;
    } else {
      changes.back().change -= static_cast<int>(missing);
    }
  };
  for (std::size_t at = 0, end; at < all.size(); at = end) {
    end = end_of_grapheme(all, at);
    const std::string whole = end - at <= kShort ? to_utf8(all.substr(at, end - at)) : "";
    if (!whole.empty() && whole.size() <= kShort) {
      if (const auto rule = rules_.shortest(whole)) {
        replace(rule->replacement, end - at);
        continue;
      }
    }
    for (std::size_t i = at; i < end; ++i) {
      if (const auto rule = rules_.shortest(to_utf8(all.substr(i, 1)))) {
        replace(rule->replacement, 1);
      } else {
        changes.push_back({all[i], 0});
      }
    }
  }
  text.transform(changes, dropped);
}

}  // namespace attend::text
