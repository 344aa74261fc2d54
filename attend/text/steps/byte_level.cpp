#include "attend/text/steps/byte_level.h"

#include "attend/base/unicode/unicode.h"

namespace attend::text {

namespace {

constexpr char32_t kEnd = 0x144;  // behind the last character that stands for a byte

constexpr std::array<std::int16_t, kEnd> kBytes = [] {
  std::array<std::int16_t, kEnd> bytes = {};
  bytes.fill(-1);
  for (std::size_t byte = 0; byte < 256; ++byte) bytes[kByteCharacters[byte]] = static_cast<std::int16_t>(byte);
  return bytes;
}();

}  // namespace

std::optional<unsigned char> byte_of(char32_t character) {
  if (character >= kEnd || kBytes[character] < 0) return std::nullopt;
  return static_cast<unsigned char>(kBytes[character]);
}

std::string to_byte_characters(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 4);
  for (char byte : bytes) append_utf8(out, kByteCharacters[static_cast<unsigned char>(byte)]);
  return out;
}

std::optional<std::string> from_byte_characters(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c >= kEnd || kBytes[c] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kBytes[c]));
  }
  return bytes;
}

}  // namespace attend::text
