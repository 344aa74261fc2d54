// Which items make up a batch: the epochs follow one another without a gap, each in an order of its own that visits
// every item once. A pure function of the batch's number and the seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/random.h"
#include "attend/data/permutation.h"

namespace attend::data {

// What random numbers of images are for; each has a seed of its own.
enum class ImageStream : std::uint32_t {
  order = 0x6f726472,
  augment = 0x6175676d,
  mix = 0x6d697865,
  flip = 0x666c6970
};

inline std::uint64_t image_seed(std::uint64_t seed, ImageStream stream, std::uint64_t number) {
  const Random4 random = philox(seed, static_cast<std::uint32_t>(stream), number);
  return std::uint64_t{random.word[1]} << 32 | random.word[0];
}

class EpochOrder {
 public:
  struct Row {
    std::uint64_t epoch = 0;
    std::size_t item = 0;  // which one of count
  };
  EpochOrder(std::uint64_t count, std::uint64_t batch, std::uint64_t seed)
      : count_(count), batch_(batch), seed_(seed) {}

  std::vector<Row> batch(std::uint64_t number) {
    std::vector<Row> rows;
    for (std::uint64_t place = number * batch_; place < (number + 1) * batch_; ++place) {
      const std::uint64_t epoch = place / count_;
      if (!order_ || order_->first != epoch)
        order_.emplace(epoch, Permutation(count_, image_seed(seed_, ImageStream::order, epoch)));
      rows.push_back({.epoch = epoch, .item = static_cast<std::size_t>(order_->second(place % count_))});
    }
    return rows;
  }

  // Throws Error for a number that no run can have come to.
  void check_batch(std::uint64_t number) const {
    check(number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / batch_ - 1,
          "images: there is no batch {}", number);
  }

 private:
  std::uint64_t count_, batch_, seed_;
  std::optional<std::pair<std::uint64_t, Permutation>> order_;  // of an epoch
};

}  // namespace attend::data
