// Tokens and their ids, both ways. Ids may have gaps.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attend::text {

using TokenId = std::int32_t;

class Vocabulary {
 public:
  Vocabulary() = default;
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  // Throws Error when the token or the id is there already, or the id is far beyond what so many tokens need.
  void add(std::string_view token, TokenId id);
  void reserve(std::size_t tokens);

  std::optional<TokenId> find(std::string_view token) const;
  // Null where no token has the id.
  const std::string* token(TokenId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < tokens_.size() ? tokens_[static_cast<std::size_t>(id)] : nullptr;
  }
  std::size_t size() const { return texts_.size(); }
  TokenId largest_id() const { return static_cast<TokenId>(tokens_.size()) - 1; }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    TokenId id = -1;  // -1 is an empty slot
  };
  void grow(std::size_t slots);

  std::deque<std::string> texts_;  // never moves, so tokens_ may point into it
  std::vector<const std::string*> tokens_;
  std::vector<Slot> slots_;
};

class JsonView;

// {"token": id, ..}
Vocabulary read_vocabulary(const JsonView& json);

}  // namespace attend::text
