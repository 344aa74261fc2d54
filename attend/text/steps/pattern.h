// Regular expressions as tokenizer.json's Split and Replace use them: characters, classes ([..], \s \w \d \p{L} and
// such), groups, alternatives, greedy, lazy and possessive repetition, anchors, and looking ahead. The first way that
// fits wins, as in Perl. Backtracking, so a pattern could be made to take for ever: a search stops with an Error when
// it has taken far more steps than the text has bytes (limits::kPatternStepsPerByte).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attend::text {

class Pattern {
 public:
  // Throws Error saying what is wrong or not supported.
  explicit Pattern(std::string_view regex);

  struct Found {
    std::size_t begin = 0, end = 0;
  };
  // All matches in well-formed UTF-8, from left to right; empty ones are left out. Takes what it costs off steps, and
  // throws Error when they are spent (TextBudget).
  std::vector<Found> find_all(std::string_view text, std::uint64_t& steps) const;

  // The parts, for pattern_compiler.cpp.
  struct Item {
    char32_t first = 0, last = 0;  // of a range, if it is one
    std::uint8_t property = 0;
    bool negated = false;
  };
  struct Set {
    std::vector<Item> items = {};
    bool negated = false, folds_case = false;
    std::uint32_t cost = 1;  // steps that a look costs: more in a long list
    bool has(char32_t c) const;
  };
  enum class Op : std::uint8_t { one, split, jump, match, ahead, not_ahead, atomic, start, end };
  // one: a character of set x. split: try x, then y. The program of ahead, not_ahead and atomic begins behind them and
  // ends in a match; they go on at x.
  struct Step {
    Op op;
    std::uint32_t x = 0, y = 0;
  };

 private:
  struct Search;
  std::optional<std::size_t> run(Search& search, std::uint32_t step, std::size_t at) const;

  std::vector<Set> sets_;
  std::vector<Step> steps_;
};

void compile_pattern(std::string_view regex, std::vector<Pattern::Set>& sets, std::vector<Pattern::Step>& steps);

class JsonView;

// With complaints that name the file.
Pattern read_pattern(const JsonView& json);

}  // namespace attend::text
