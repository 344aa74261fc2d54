// Equal n-grams get equal numbers, exactly and in linear time: an n-gram is known by the number of its first n-1 units
// and its last unit, so one 64-bit key names it whatever its order. A unit is a word or a character.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attend::metrics {

using Units = std::vector<std::uint32_t>;

// Gives every different word of one segment a number. Keeps views: the text must stay alive.
class WordNumbers {
 public:
  Units operator()(std::span<const std::u32string_view> words);

 private:
  std::unordered_map<std::u32string_view, std::uint32_t> numbers_;
};

// The n-grams of the sequences of one segment (a hypothesis and its references), one order after the other.
class Ngrams {
 public:
  explicit Ngrams(std::vector<Units> sequences);

  int order() const { return order_; }
  // grams(s)[i] is the number of the n-gram that begins at unit i of sequence s.
  std::span<const std::uint32_t> grams(std::size_t sequence) const { return grams_[sequence]; }
  // How many of the n-grams of sequence s stand in the references, each counted at most as often as in the reference
  // that has it most often (Papineni et al. 2002, section 2.1.1).
  std::int64_t matches(std::size_t sequence, std::span<const std::size_t> references) const;
  void next_order();

 private:
  void start_table();
  std::uint32_t number_of(std::uint64_t key);

  int order_ = 1;
  std::vector<Units> units_, grams_;
  struct Slot {
    std::uint64_t key;
    std::uint32_t number;
  };
  std::vector<Slot> table_;  // open addressing, at most half full
  std::uint32_t count_ = 0;  // numbers given in this order
};

}  // namespace attend::metrics
