#include "attend/text/steps/split_text.h"

#include <utility>

#include "attend/base/unicode/unicode.h"
#include "attend/text/steps/byte_level.h"

namespace attend::text {

namespace {

// Joins a match to the piece before it (or, going backwards, behind it), unless that is a match too.
std::vector<Match> merge_matches(const std::vector<Match>& matches, bool with_next) {
  std::vector<Match> merged;
  bool previous = false;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const Match& match = matches[with_next ? matches.size() - 1 - i : i];
    if (match.matched && !previous && !merged.empty()) {
      (with_next ? merged.back().begin : merged.back().end) = with_next ? match.begin : match.end;
    } else {
      merged.push_back(match);
    }
    previous = match.matched;
  }
  if (with_next) return {merged.rbegin(), merged.rend()};
  return merged;
}

std::vector<Match> join_runs(const std::vector<Match>& matches) {
  std::vector<Match> joined;
  for (const Match& match : matches) {
    if (!joined.empty() && joined.back().matched == match.matched) {
      joined.back().end = match.end;
    } else {
      joined.push_back(match);
    }
  }
  return joined;
}

}  // namespace

void split_words(SplitText& text, const MatchFinder& find_matches, SplitBehavior behavior) {
  std::vector<WordRange> words;
  std::vector<Match> matches;
  for (const WordRange& range : text.words) {
    matches.clear();
    find_matches(text.word(range), matches);
    if (behavior == SplitBehavior::merged_with_previous) matches = merge_matches(matches, false);
    if (behavior == SplitBehavior::merged_with_next) matches = merge_matches(matches, true);
    if (behavior == SplitBehavior::contiguous) matches = join_runs(matches);
    for (const Match& match : matches)
      if (match.begin < match.end && !(behavior == SplitBehavior::removed && match.matched))
        words.push_back({range.begin + match.begin, range.begin + match.end});
  }
  text.words = std::move(words);
}

MatchFinder match_characters(std::function<bool(char32_t)> test) {
  return [test = std::move(test)](std::string_view word, std::vector<Match>& matches) {
    for (std::size_t at = 0; at < word.size();) {
      const auto begin = static_cast<std::uint32_t>(at);
      const bool matched = test(next_character(word, at));
      const auto end = static_cast<std::uint32_t>(at);
      if (!matched && !matches.empty() && !matches.back().matched) {
        matches.back().end = end;
      } else {
        matches.push_back({begin, end, matched});
      }
    }
  };
}

void rewrite_words(SplitText& text, const WordEditor& edit) {
  SplitText result;
  result.tracked = text.tracked;
  result.byte_level = text.byte_level;
  result.starts_original = text.starts_original;
  result.budget = text.budget;
  std::vector<std::uint32_t> from;
  for (const WordRange& range : text.words) {
    const auto begin = static_cast<std::uint32_t>(result.text.size());
    from.clear();
    edit(text.word(range), text.starts_original && range.begin == 0, result.text, from);
    if (text.tracked)
      for (std::uint32_t byte : from) result.spans.push_back(text.spans[range.begin + byte]);
    result.words.push_back({begin, static_cast<std::uint32_t>(result.text.size())});
  }
  if (text.budget) check_growth(result.text.size(), text.budget->original);
  text = std::move(result);
}

void spell_bytes(SplitText& text) {
  if (!text.byte_level) return;
  text.byte_level = false;
  rewrite_words(text, [](std::string_view word, bool, std::string& out, std::vector<std::uint32_t>& from) {
    for (std::uint32_t i = 0; i < word.size(); ++i) {
      const std::size_t before = out.size();
      append_utf8(out, kByteCharacters[static_cast<unsigned char>(word[i])]);
      from.insert(from.end(), out.size() - before, i);
    }
  });
}

}  // namespace attend::text
