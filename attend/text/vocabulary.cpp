#include "attend/text/vocabulary.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/hashing.h"
#include "attend/base/json.h"
#include "attend/base/limits.h"
#include "attend/text/json_view.h"

namespace attend::text {

void Vocabulary::reserve(std::size_t tokens) { grow(std::bit_ceil(tokens * 2 + 16)); }

void Vocabulary::grow(std::size_t slots) {
  if (slots <= slots_.size()) return;
  std::vector<Slot> old = std::move(slots_);
  slots_.assign(slots, {});
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    std::size_t at = slot.hash & (slots - 1);
    while (slots_[at].id >= 0) at = (at + 1) & (slots - 1);
    slots_[at] = slot;
  }
}

void Vocabulary::add(std::string_view token, TokenId id) {
  // A hostile id must not make a table of gigabytes.
  constexpr std::size_t kGap = 1 << 20;
  if (id < 0 || static_cast<std::size_t>(id) >= 16 * texts_.size() + kGap)
    fail("the token {} has the id {}, far beyond the {} tokens before it", shown(token), id, texts_.size());
  check(token.size() <= limits::kLongestToken,
        "the token {} is {} bytes long; the most is {} (kLongestToken in attend/base/limits.h)", shown(token),
        token.size(), limits::kLongestToken);
  check(texts_.size() < limits::kMostTokens, "there are more than {} tokens (kMostTokens in attend/base/limits.h)",
        limits::kMostTokens);
  if (find(token)) fail("the token {} is there twice", shown(token));
  if (this->token(id)) fail("the tokens {} and {} have the same id {}", shown(*this->token(id)), shown(token), id);
  if (slots_.size() < 2 * (texts_.size() + 1)) grow(std::bit_ceil(texts_.size() * 4 + 16));
  texts_.emplace_back(token);
  if (tokens_.size() <= static_cast<std::size_t>(id)) tokens_.resize(static_cast<std::size_t>(id) + 1, nullptr);
  tokens_[static_cast<std::size_t>(id)] = &texts_.back();
  const auto hash = static_cast<std::uint32_t>(hash_text(token));
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at].id >= 0) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {hash, id};
}

std::optional<TokenId> Vocabulary::find(std::string_view token) const {
  if (slots_.empty()) return std::nullopt;
  const auto hash = static_cast<std::uint32_t>(hash_text(token));
  for (std::size_t at = hash & (slots_.size() - 1); slots_[at].id >= 0; at = (at + 1) & (slots_.size() - 1))
    if (slots_[at].hash == hash && *tokens_[static_cast<std::size_t>(slots_[at].id)] == token) return slots_[at].id;
  return std::nullopt;
}

Vocabulary read_vocabulary(const JsonView& json) {
  if (!json.value().is_object()) json.complain("must be an object");
  // In the order of the ids, so that a gap is judged by what is before it.
  std::vector<std::pair<TokenId, const std::string*>> tokens;
  for (const auto& [token, id] : json.value().items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > kLargestTokenId)
      json.complain("has no valid id for {}", shown(token));
    tokens.emplace_back(id.get<TokenId>(), &token);
  }
  std::ranges::sort(tokens, {}, &std::pair<TokenId, const std::string*>::first);
  Vocabulary vocabulary;
  vocabulary.reserve(tokens.size());
  try {
    for (const auto& [id, token] : tokens) vocabulary.add(*token, id);
  } catch (const Error& error) {
    json.complain("is not usable: {}", error.what());
  }
  return vocabulary;
}

}  // namespace attend::text
