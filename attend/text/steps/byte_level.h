// GPT-2's printable characters for the 256 bytes: a byte-level vocabulary is written with them. Bytes that are
// printable in Latin-1 stand for themselves; the others get the characters from U+0100 on, in order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attend::text {

inline constexpr std::array<char32_t, 256> kByteCharacters = [] {
  std::array<char32_t, 256> characters = {};
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    characters[static_cast<std::size_t>(byte)] = printable ? static_cast<char32_t>(byte) : next++;
  }
  return characters;
}();

// The byte that a character stands for, if it does.
std::optional<unsigned char> byte_of(char32_t character);

// Bytes as their characters in UTF-8: " a" becomes "Ġa".
std::string to_byte_characters(std::string_view bytes);

// And back: nothing if some character stands for no byte.
std::optional<std::string> from_byte_characters(std::string_view text);

}  // namespace attend::text
