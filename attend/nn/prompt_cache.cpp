#include "attend/nn/prompt_cache.h"

#include <algorithm>

#include "attend/base/error.h"

namespace attend::nn {

PromptCache::PromptCache(std::int64_t rows, std::int64_t piece) : piece_(piece) {
  check(rows >= 1 && piece >= 1, "decoder: {} prompts are kept in pieces of {} tokens", rows, piece);
  for (std::int64_t row = 0; row < rows; ++row) entries_.push_back({row, {}});
}

PromptCache::Match PromptCache::find(std::span<const std::int32_t> tokens) {
  Match best;
  auto found = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    const auto differ = std::ranges::mismatch(entry->tokens, tokens).in2 - tokens.begin();
    if (const std::int64_t same = differ / piece_ * piece_; same > best.tokens)
      best = {entry->row, same}, found = entry;
  }
  if (found != entries_.end()) use(found);
  return best;
}

std::list<PromptCache::Entry>::iterator PromptCache::entry(std::int64_t row) {
  const auto found = std::ranges::find(entries_, row, &Entry::row);
  check(found != entries_.end(), "decoder: no prompt is kept in row {}", row);
  return found;
}

std::int64_t PromptCache::row_behind(const Match& match, std::span<const std::int32_t> tokens) {
  auto to = match.row >= 0 ? entry(match.row) : entries_.end();
  if (to == entries_.end() || static_cast<std::int64_t>(to->tokens.size()) > match.tokens) to = --entries_.end();
  to->tokens.assign(tokens.begin(), tokens.begin() + match.tokens);
  use(to);
  return to->row;
}

void PromptCache::hold(std::int64_t row, std::span<const std::int32_t> tokens) {
  const auto held = entry(row);
  held->tokens.assign(tokens.begin(), tokens.end());
  use(held);
}

}  // namespace attend::nn
