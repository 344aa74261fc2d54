// The batches of a validation shared out: each is computed by one process, and what is summed over them is added in
// their order, so that N processes find the very sums of one.
//
//   SharedBatches shared(world, batches, 2);
//   for (i = 0; i < batches; ++i)
//     if (shared.mine(i)) shared.set(i, {loss, tokens});
//   const std::vector<double> sums = shared.sums();
//
// What is no sum (labels, texts, boxes) is found by one and told to all, who then evaluate it alike:
//
//   SharedFindings shared(world, batches);
//   if (shared.mine(i)) shared.set<float>(i, logits);
//   for (const std::string& found : shared.all()) evaluator.add(values_in<float>(found));
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/data/shard.h"
#include "attend/world/world.h"

namespace attend::train {

inline data::Shard shard_of(const world::World& world) {
  return {static_cast<std::uint64_t>(world.rank()), static_cast<std::uint64_t>(world.size())};
}

class SharedBatches {
 public:
  // numbers: summed of each batch.
  SharedBatches(world::World& world, std::size_t batches, std::size_t numbers)
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
  world::World& world_;
  std::size_t numbers_;
  std::vector<double> found_;
};

// Values of a list that was set().
template <class T>
std::vector<T> values_in(const std::string& bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

class SharedFindings {
 public:
  SharedFindings(world::World& world, std::size_t count) : world_(world), found_(count) {}

  bool mine(std::size_t i) const {
    return i % static_cast<std::size_t>(world_.size()) == static_cast<std::size_t>(world_.rank());
  }
  // Each by one process only, whoever that is.
  void set(std::size_t i, std::string bytes) { found_.at(i) = std::move(bytes); }
  template <class T>
  void set(std::size_t i, std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    set(i, std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes()));
  }
  // All call it; all get the same. Empty: nobody found anything.
  const std::vector<std::string>& all() {
    if (world_.size() == 1) return found_;
    std::string own;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (found_[i].empty()) continue;
      const std::uint64_t head[] = {i, found_[i].size()};
      own.append(reinterpret_cast<const char*>(head), sizeof head).append(found_[i]);
    }
    world_.barrier_after_work();
    for (const std::string& texts : world_.all_gather(own)) take(texts);
    return found_;
  }

 private:
  void take(const std::string& texts) {
    std::uint64_t head[2];
    for (std::size_t at = 0; at < texts.size(); at += sizeof head + head[1]) {
      check(texts.size() - at >= sizeof head, "validation: what another process found is cut off");
      std::memcpy(head, texts.data() + at, sizeof head);
      found_.at(head[0]) = texts.substr(at + sizeof head, head[1]);
    }
  }

  world::World& world_;
  std::vector<std::string> found_;
};

}  // namespace attend::train
