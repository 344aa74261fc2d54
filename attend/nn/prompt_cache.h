// Which prompts the spare rows of a batch's caches hold, so that a new prompt begins where an earlier one with the same
// first tokens has been read to. It knows tokens and rows; keys and values lie in the rows (causal_batch.h).
// Prompts count in whole pieces, each read at once. A piece is read the same way whoever reads it, so a text does not
// depend on what was kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

namespace attend::nn {

class PromptCache {
 public:
  PromptCache(std::int64_t rows, std::int64_t piece);
  std::int64_t piece() const { return piece_; }
  // Tokens of a prompt that are kept: its whole pieces, without the last piece, which has at least a token.
  std::int64_t kept_of(std::size_t prompt) const {
    return prompt == 0 ? 0 : (static_cast<std::int64_t>(prompt) - 1) / piece_ * piece_;
  }

  struct Match {
    std::int64_t row = -1, tokens = 0;  // the spare row that begins with the most tokens of a prompt, in whole pieces
  };
  Match find(std::span<const std::int32_t> tokens);
  // The row in which these tokens may go on behind a match: its own if it ends there, else the one that was not used
  // for longest, which forgets its prompt. Its first match.tokens positions must be copied if it is another row.
  std::int64_t row_behind(const Match& match, std::span<const std::int32_t> tokens);
  // Says that this row now holds these tokens.
  void hold(std::int64_t row, std::span<const std::int32_t> tokens);

 private:
  struct Entry {
    std::int64_t row;
    std::vector<std::int32_t> tokens;
  };
  std::list<Entry>::iterator entry(std::int64_t row);
  void use(std::list<Entry>::iterator entry) { entries_.splice(entries_.begin(), entries_, entry); }

  std::int64_t piece_;
  std::list<Entry> entries_;  // the last used first
};

}  // namespace attend::nn
