// Text on its way through the normalizers: each character knows which characters of the original it came from.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/text/text_budget.h"

namespace attend::text {

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
  // text is well-formed UTF-8 whose first character is number first of the original. The budget, of the whole text,
  // must outlive this.
  AlignedText(std::string_view text, std::uint32_t first, TextBudget& budget);

  const std::u32string& characters() const { return characters_; }
  const std::vector<Span>& spans() const { return spans_; }
  bool empty() const { return characters_.empty(); }
  TextBudget& budget() const { return *budget_; }

  // All that follow throw Error when the text grows beyond all measure (check_growth). A new text with the original
  // characters of each of its own.
  void assign(std::u32string characters, std::vector<Span> spans);
  // Replaces the whole text; dropped characters at the very start stand for nothing. An added character has the span
  // of the one before it.
  void transform(const std::vector<ChangedCharacter>& changes, std::size_t dropped = 0);
  void filter(const std::function<bool(char32_t)>& keep);
  // Puts text in front; it has the span of what was first. Nothing happens to empty text.
  void prepend(std::u32string_view text);
  // Replaces each occurrence of pattern; what comes instead has the span of the last character replaced.
  void replace(std::u32string_view pattern, std::u32string_view content);
  // The same for ranges of characters, in order, none of them empty.
  struct Range {
    std::size_t begin = 0, end = 0;
  };
  void replace(const std::vector<Range>& ranges, std::u32string_view content);

 private:
  std::u32string characters_;
  std::vector<Span> spans_;  // one for each character
  std::size_t original_;     // how many there were
  TextBudget* budget_;
};

// Well-formed UTF-8 as characters, and back.
std::u32string to_characters(std::string_view text);
std::string to_utf8(std::u32string_view characters);

}  // namespace attend::text
