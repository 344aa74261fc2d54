#include "attend/metrics/unicode.h"

#include <algorithm>
#include <span>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"
#include "attend/base/unicode/unicode_tables.h"

namespace attend::metrics {

namespace {

constexpr char32_t kCapitalSigma = 0x3A3, kSigma = 0x3C3, kFinalSigma = 0x3C2;
constexpr char32_t kCapitalIWithDot = 0x130, kDotAbove = 0x307;

// The range that would hold c: the first one that does not end before it.
template <class Range>
const Range* find_range(std::span<const Range> ranges, char32_t c) {
  const auto found = std::ranges::lower_bound(ranges, c, {}, &Range::last);
  return found != ranges.end() && found->first <= c ? &*found : nullptr;
}

bool contains(std::span<const CharacterRange> ranges, char32_t c) { return find_range(ranges, c) != nullptr; }

// A sigma is final where the nearest character before it that counts is a letter with case and the nearest behind is
// not (Unicode 3.13, Final_Sigma).
bool is_final_sigma(std::u32string_view text, std::size_t at) {
  std::size_t before = at, after = at + 1;
  while (before > 0 && contains(kCaseIgnorable, text[before - 1])) --before;
  if (before == 0 || !contains(kCased, text[before - 1])) return false;
  while (after < text.size() && contains(kCaseIgnorable, text[after])) ++after;
  return after == text.size() || !contains(kCased, text[after]);
}

char32_t lower_character(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  const LowerRun* run = find_range(std::span<const LowerRun>(kLower), c);
  if (!run || (c - run->first) % static_cast<char32_t>(run->stride) != 0) return c;
  return static_cast<char32_t>(static_cast<std::int64_t>(c) + run->distance);
}

}  // namespace

std::u32string decode_utf8(std::string_view text) {
  std::u32string decoded;
  decoded.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    check(c != kInvalidCharacter, "text is not UTF-8 at byte {} of {}", at, text.size());
    decoded.push_back(c);
  }
  return decoded;
}

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x9 && c <= 0xD) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_punctuation(char32_t c) { return contains(kPunctuation, c); }
bool is_symbol(char32_t c) { return contains(kSymbol, c); }
bool is_number(char32_t c) { return contains(kNumber, c); }

std::u32string lower(std::u32string_view text) {
  std::u32string lowered;
  lowered.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == kCapitalSigma) {
      lowered.push_back(is_final_sigma(text, i) ? kFinalSigma : kSigma);
    } else if (text[i] == kCapitalIWithDot) {
      lowered.append({U'i', kDotAbove});
    } else {
      lowered.push_back(lower_character(text[i]));
    }
  }
  return lowered;
}

std::u32string_view strip_right(std::u32string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view strip_right(std::string_view utf8) {
  while (!utf8.empty()) {
    std::size_t last = utf8.size() - 1;
    while (last > 0 && (static_cast<unsigned char>(utf8[last]) & 0xC0) == 0x80) --last;
    std::size_t at = last;
    if (!is_space(next_character(utf8, at))) break;
    utf8 = utf8.substr(0, last);
  }
  return utf8;
}

std::vector<std::u32string_view> split_words(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  for (std::size_t begin = 0; begin < text.size();) {
    if (is_space(text[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin + 1;
    while (end < text.size() && !is_space(text[end])) ++end;
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

}  // namespace attend::metrics
