// GPT-2's words: what the pattern
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// matches one after the other (Radford et al. 2019), as a scanner: every character belongs to some word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attend/base/unicode/unicode.h"

namespace attend::text {

class Gpt2Words {
 public:
  Gpt2Words() : properties_(property_table()) {}

  // The end of the word that begins at `at`. text is well-formed UTF-8 and at < text.size().
  std::size_t end_of_word(std::string_view text, std::size_t at) const;

 private:
  enum class Kind : std::uint8_t { other, letter, number, space };

  // The kind of the character at `at`, and where it ends.
  Kind kind_at(std::string_view text, std::size_t at, std::size_t& end) const {
    const auto byte = static_cast<unsigned char>(text[at]);
    char32_t c = byte;
    if (byte < 0x80) {
      end = at + 1;
    } else {
      const std::size_t length = utf8_length(text[at]);
      end = at + length;
      c = byte & (0xFFu >> (length + 1));
      for (std::size_t i = 1; i < length; ++i) c = c << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3Fu);
    }
    const std::uint8_t bits = properties_[c];
    return bits & Property::letter        ? Kind::letter
           : bits & Property::number      ? Kind::number
           : bits & Property::white_space ? Kind::space
                                          : Kind::other;
  }

  std::size_t end_of_run(std::string_view text, std::size_t at, Kind kind) const {
    std::size_t end = at;
    while (at < text.size() && kind_at(text, at, end) == kind) at = end;
    return at;
  }

  std::size_t end_of_space(std::string_view text, std::size_t at) const;

  const std::uint8_t* properties_;
};

inline std::size_t Gpt2Words::end_of_word(std::string_view text, std::size_t at) const {
  std::size_t end = 0;
  if (text[at] == '\'' && at + 1 < text.size()) {
    const char a = text[at + 1], b = at + 2 < text.size() ? text[at + 2] : '\0';
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return at + 2;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return at + 3;
  }
  // One plain space may belong to the word behind it.
  const std::size_t first = text[at] == ' ' && at + 1 < text.size() ? at + 1 : at;
  const Kind kind = kind_at(text, first, end);
  return kind == Kind::space ? end_of_space(text, at) : end_of_run(text, end, kind);
}

// White space before a word leaves its last character to it, or stands alone if it is just one.
inline std::size_t Gpt2Words::end_of_space(std::string_view text, std::size_t at) const {
  std::size_t last = at, end = at;
  for (std::size_t next = at; next < text.size() && kind_at(text, next, end) == Kind::space; next = end) last = next;
  const std::size_t run = last + utf8_length(text[last]);
  return run == text.size() || last == at ? run : last;
}

}  // namespace attend::text
