// Text cut into words, as the pre-tokenizers hand it on to the model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/text/aligned_text.h"

namespace attend::text {

// Bytes [begin, end) of the text.
struct WordRange {
  std::uint32_t begin = 0, end = 0;
};

struct SplitText {
  std::string text = {};
  // For each byte the characters of the original that it came from; empty when nobody wants offsets.
  std::vector<Span> spans = {};
  bool tracked = false;
  bool starts_original = false;  // its first byte is the original's first
  std::vector<WordRange> words = {};
  // The bytes stand for GPT-2's printable characters, which are only written out (spell_bytes) when a later step must
  // see them: the model looks bytes up directly.
  bool byte_level = false;
  TextBudget* budget = nullptr;  // of the whole text; none: one of its own

  std::string_view word(WordRange range) const {
    return std::string_view(text).substr(range.begin, range.end - range.begin);
  }
  // The original characters of a range of bytes.
  Span span(WordRange range) const {
    return range.begin < range.end && range.end <= spans.size()
               ? Span{spans[range.begin].begin, spans[range.end - 1].end}
               : Span{};
  }
};

// How a piece that a pattern matched is treated. On "a-b" with the pattern "-": removed a|b, isolated a|-|b,
// merged_with_previous a-|b, merged_with_next a|-b; contiguous is isolated with runs of matches in one piece.
enum class SplitBehavior : std::uint8_t { removed, isolated, merged_with_previous, merged_with_next, contiguous };

// A piece of a word, and whether the pattern matched it. The pieces of a word cover it.
struct Match {
  std::uint32_t begin = 0, end = 0;
  bool matched = false;
};

// Cuts every word by what find_matches says of it (its offsets count from the word's start).
using MatchFinder = std::function<void(std::string_view word, std::vector<Match>& matches)>;
void split_words(SplitText& text, const MatchFinder& find_matches, SplitBehavior behavior);

// A finder for single characters.
MatchFinder match_characters(std::function<bool(char32_t)> test);

// Throws Error when the text grows beyond all measure (check_growth). Rewrites every word: edit(word, first) appends to
// out, and for each appended byte names the byte of the word whose place it takes. first is whether the word begins the
// original text.
using WordEditor =
    std::function<void(std::string_view word, bool first, std::string& out, std::vector<std::uint32_t>& from)>;
void rewrite_words(SplitText& text, const WordEditor& edit);

// Writes the bytes of a byte_level text out as printable characters.
void spell_bytes(SplitText& text);

}  // namespace attend::text
