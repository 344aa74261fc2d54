// Lines as 64-bit keys, and sets of them: ten million keys take about 150 MB.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace attend::data {

// A hash of the letters and digits of well-formed text in lower case. Lines that differ only in case, space or
// punctuation have the same key. A line without letters and digits is hashed as it is.
std::uint64_t line_key(std::string_view text);

// The same for a pair.
std::uint64_t pair_key(std::uint64_t source, std::uint64_t target);  // of the keys of its lines

// Open addressing, never more than two thirds full.
class KeySet {
 public:
  // True if the key was not in the set.
  bool add(std::uint64_t key);
  bool has(std::uint64_t key) const;
  std::size_t size() const { return size_; }

 private:
  std::size_t place_of(std::uint64_t key) const;  // of the key, or of the empty slot where it belongs
  void grow();

  std::vector<std::uint64_t> slots_;  // 0: empty; the key 0 is stored as 1
  std::size_t size_ = 0;
};

}  // namespace attend::data
