#include "attend/base/unicode/unicode.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "attend/base/unicode/unicode_tables.h"

namespace attend {

namespace {

constexpr char32_t kCapitalSigma = 0x3A3, kSigma = 0x3C3, kReplacement = 0xFFFD;

std::array<std::uint8_t, 0x110000> table;  // in memory that costs nothing until it is written

void paint(std::span<const CharacterRange> ranges, std::uint8_t property) {
  for (const CharacterRange& range : ranges)
    for (char32_t c = range.first; c <= range.last; ++c) table[c] |= property;
}

// The length of the run of ASCII at the start, eight bytes at a time.
std::size_t ascii_length(std::string_view text) {
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    if (word & 0x8080808080808080u) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

// How many bytes at the start of text begin a character that does not go on; at least 1.
std::size_t broken_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0xC2 || lead > 0xF4 || text.size() < 2) return 1;
  const auto second = static_cast<unsigned char>(text[1]);
  const unsigned least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (second < least || second > most) return 1;
  std::size_t length = 2;
  while (length < text.size() && length < utf8_length(text[0]) &&
         (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80)
    ++length;
  return length;
}

}  // namespace

char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(at);
  if (lead < 0x80) {
    ++at;
    return lead;
  }
  const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  if (lead < 0xC2 || lead > 0xF4 || text.size() - at <= static_cast<std::size_t>(more)) return kInvalidCharacter;
  char32_t c = lead & (0x3Fu >> more);
  for (int i = 1; i <= more; ++i) {
    const unsigned next = byte(at + i);
    if ((next & 0xC0) != 0x80) return kInvalidCharacter;
    c = c << 6 | (next & 0x3F);
  }
  constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};  // below it the form is overlong
  if (c < kLeast[more] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return kInvalidCharacter;
  at += more + 1;
  return c;
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    at += ascii_length(text.substr(at));
    while (at < text.size() && static_cast<unsigned char>(text[at]) >= 0x80)
      if (next_character(text, at) == kInvalidCharacter) return at;
  }
  return std::nullopt;
}

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    const char bytes[] = {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
    out.append(bytes, 2);
  } else if (c < 0x10000) {
    const char bytes[] = {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3F)),
                          static_cast<char>(0x80 | (c & 0x3F))};
    out.append(bytes, 3);
  } else {
    const char bytes[] = {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 0x3F)),
                          static_cast<char>(0x80 | (c >> 6 & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
    out.append(bytes, 4);
  }
}

std::string_view without_outer_space(std::string_view text) {
  const auto is_space = [&](std::size_t at) { return has_property(next_character(text, at), Property::white_space); };
  while (!text.empty() && is_space(0)) text.remove_prefix(utf8_length(text[0]));
  while (!text.empty()) {
    std::size_t last = text.size() - 1;
    while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
    if (!is_space(last)) break;
    text.remove_suffix(text.size() - last);
  }
  return text;
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  while (true) {
    const auto bad = find_invalid_utf8(text);
    out.append(text.substr(0, bad.value_or(text.size())));
    if (!bad) return out;
    append_utf8(out, kReplacement);
    text.remove_prefix(*bad);
    text.remove_prefix(broken_length(text));
  }
}

const std::uint8_t* property_table() {
  static const bool painted = [] {
    paint(kLetter, Property::letter);
    paint(kNumber, Property::number);
    paint(kWhiteSpace, Property::white_space);
    paint(kWord, Property::word);
    paint(kMark, Property::mark);
    paint(kPunctuation, Property::punctuation);
    paint(kSymbol, Property::symbol);
    return true;
  }();
  return painted ? table.data() : nullptr;
}

char32_t lower_character(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  if (c == kCapitalSigma) return kSigma;
  const std::span<const LowerRun> runs(kLower);
  const auto run = std::ranges::lower_bound(runs, c, {}, &LowerRun::last);
  if (run == runs.end() || run->first > c || (c - run->first) % static_cast<char32_t>(run->stride) != 0) return c;
  return static_cast<char32_t>(static_cast<std::int64_t>(c) + run->distance);
}

}  // namespace attend
