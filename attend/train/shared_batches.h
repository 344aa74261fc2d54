// The batches of a validation shared out: each is computed by one process, and what is summed over them is added in
// their order, so that N processes find the very sums of one.
//
//   SharedBatches shared(world, batches, 2);
//   for (i = 0; i < batches; ++i)
//     if (shared.mine(i)) shared.set(i, {loss, tokens});
//   const std::vector<double> sums = shared.sums();
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

#include "attend/world/world.h"

namespace attend::train {

class SharedBatches {
 public:
  // numbers: summed of each batch.
  SharedBatches(World& world, std::size_t batches, std::size_t numbers)
      : world_(world), numbers_(numbers), found_(batches * numbers) {}

  bool mine(std::size_t batch) const {
    return batch % static_cast<std::size_t>(world_.size()) == static_cast<std::size_t>(world_.rank());
  }
  void set(std::size_t batch, std::initializer_list<double> values) {
    std::ranges::copy(values, found_.begin() + static_cast<std::ptrdiff_t>(batch * numbers_));
  }
  // All call it; all get the same.
  std::vector<double> sums() {
    if (world_.size() > 1) {
      world_.barrier_after_work();
      world_.all_reduce(std::span<double>(found_));  // of one process each: the others' are zeros, and nothing rounds
    }
    std::vector<double> sums(numbers_);
    for (std::size_t i = 0; i < found_.size(); ++i) sums[i % numbers_] += found_[i];
    return sums;
  }

 private:
  World& world_;
  std::size_t numbers_;
  std::vector<double> found_;
};

}  // namespace attend::train
