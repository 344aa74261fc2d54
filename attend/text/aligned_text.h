// Text on its way through the normalizers: each character knows which characters of the original it came from.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// Characters [begin, end) of the original text.
struct Span {
  std::uint32_t begin = 0, end = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

// A character of the text to come, and what it stands for: change 0 replaces the next old character, 1 is added, -n
// replaces one and drops the n behind it.
struct ChangedCharacter {
  char32_t character;
  int change;
};

class AlignedText {
 public:
  // text is well-formed UTF-8 whose first character is number first of the original.
  AlignedText(std::string_view text, std::uint32_t first);

  const std::u32string& characters() const { return characters_; }
  const std::vector<Span>& spans() const { return spans_; }
  bool empty() const { return characters_.empty(); }

  // Replaces the whole text; dropped characters at the very start stand for nothing. An added character has the span
  // of the one before it.
  void transform(const std::vector<ChangedCharacter>& changes, std::size_t dropped = 0);
  void filter(const std::function<bool(char32_t)>& keep);
  // Puts text in front; it has the span of what was first. Nothing happens to empty text.
  void prepend(std::u32string_view text);
  // Replaces each occurrence of pattern; what comes instead has the span of the last character replaced.
  void replace(std::u32string_view pattern, std::u32string_view content);

 private:
  std::u32string characters_;
  std::vector<Span> spans_;  // one for each character
};

// Well-formed UTF-8 as characters.
std::u32string to_characters(std::string_view text);

}  // namespace attend
