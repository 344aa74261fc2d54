// UTF-8 and the properties of characters: what a tokenizer asks of each one. The tables are in unicode_tables.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attend {

inline constexpr char32_t kInvalidCharacter = 0xFFFFFFFF;

// Reads one character and moves at behind it; kInvalidCharacter leaves at where it was. Surrogates and overlong forms
// are invalid.
char32_t next_character(std::string_view text, std::size_t& at);

// The first byte that is not part of well-formed UTF-8, or nothing.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

void append_utf8(std::string& out, char32_t c);

// The characters of well-formed text: the bytes that do not continue one.
std::size_t count_characters(std::string_view text);

// text with every malformed part replaced by U+FFFD, one for each longest start of a character (Unicode 3.9, D93b).
std::string replace_invalid_utf8(std::string_view text);

// text without the byte order mark that some editors put in front of it.
constexpr std::string_view without_mark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

// Well-formed text without the white space around it. Of a line that a translator reads, or learns from, that is no
// part of the sentence: an editor's space at the end of a line must not change what comes out. Prompts of a language
// model keep theirs, since it goes on behind them.
std::string_view without_outer_space(std::string_view text);

// How many bytes a character takes, from its first one.
constexpr std::size_t utf8_length(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

struct Property {
  static constexpr std::uint8_t letter = 1, number = 2, white_space = 4, word = 8, mark = 16, punctuation = 32,
                                symbol = 64;
};

// One byte of Property bits for each of the 0x110000 code points: a lookup is one load. Painted from the ranges at
// first use (0.2 ms); the pages of scripts nobody uses are never touched.
const std::uint8_t* property_table();

inline bool has_property(char32_t c, std::uint8_t property) {
  return c < 0x110000 && (property_table()[c] & property) != 0;
}

// The lower case of one character alone, except for U+0130, whose lower case is two: i and U+0307.
char32_t lower_character(char32_t c);

}  // namespace attend
