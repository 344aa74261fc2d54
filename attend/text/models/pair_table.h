// A hash table from pairs of token ids to a small value: open addressing, linear probing, no removal.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "attend/base/hashing.h"

namespace attend::text {

template <class Value>
class PairTable {
 public:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // ids are below 2^31, so no pair has this key
  static std::uint64_t key_of(std::int32_t a, std::int32_t b) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 | static_cast<std::uint32_t>(b);
  }

  explicit PairTable(std::size_t expected = 0) : slots_(std::bit_ceil(expected * 2 + 16)) {}

  const Value* find(std::uint64_t key) const {
    for (std::size_t at = hash_key(key) & mask();; at = (at + 1) & mask()) {
      if (slots_[at].key == key) return &slots_[at].value;
      if (slots_[at].key == kEmpty) return nullptr;
    }
  }

  // The value under key, made if it is not there. Valid until the next call.
  Value& operator[](std::uint64_t key) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    Slot& slot = slot_of(key);
    if (slot.key == kEmpty) {
      slot.key = key;
      ++size_;
    }
    return slot.value;
  }

  std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t key = kEmpty;
    Value value = {};
  };

  std::size_t mask() const { return slots_.size() - 1; }
  Slot& slot_of(std::uint64_t key) {
    std::size_t at = hash_key(key) & mask();
    while (slots_[at].key != key && slots_[at].key != kEmpty) at = (at + 1) & mask();
    return slots_[at];
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (Slot& slot : old)
      if (slot.key != kEmpty) slot_of(slot.key) = std::move(slot);
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace attend::text
