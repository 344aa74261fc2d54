// A pseudo-random order of [0, count) that needs no list of it: an unbalanced Feistel network over the next power of
// two, walked until the result is below count (cycle walking; Black and Rogaway 2002, "Ciphers with Arbitrary Finite
// Domains"). The round functions are Philox words in tables of about sqrt(count) entries, so that a place costs some
// nanoseconds: with Philox called in each round it was most of the time of making a batch.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "attend/base/random.h"

namespace attend::data {

class Permutation {
 public:
  Permutation(std::uint64_t count, std::uint64_t seed) : count_(count) {
    const int bits = count > 2 ? std::bit_width(count - 1) : 1;
    low_bits_ = bits / 2;
    const std::uint64_t low = std::uint64_t{1} << low_bits_, high = std::uint64_t{1} << (bits - low_bits_);
    low_mask_ = low - 1, high_mask_ = high - 1;
    for (int round = 0; round < kRounds; ++round) {  // even rounds read the low half
      tables_[round].resize(round % 2 == 0 ? low : high);
      for (std::uint64_t i = 0; i < tables_[round].size(); ++i)
        tables_[round][i] = random_word(seed, static_cast<std::uint32_t>(round), i);
    }
  }

  std::uint64_t operator()(std::uint64_t place) const {
    do place = once(place);
    while (place >= count_);
    return place;
  }

 private:
  static constexpr int kRounds = 6;

  std::uint64_t once(std::uint64_t place) const {
    std::uint64_t low = place & low_mask_, high = place >> low_bits_;
    for (int round = 0; round < kRounds; round += 2) {
      high ^= tables_[round][low] & high_mask_;
      low ^= tables_[round + 1][high] & low_mask_;
    }
    return high << low_bits_ | low;
  }

  std::uint64_t count_;
  int low_bits_ = 0;
  std::uint64_t low_mask_ = 0, high_mask_ = 0;
  std::vector<std::uint32_t> tables_[kRounds];
};

}  // namespace attend::data
