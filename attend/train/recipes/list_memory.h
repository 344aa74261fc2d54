// The i32 lists of a batch, one after another in one piece of device memory: a batch is one copy, and stays where the
// captured step of its shape reads it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "attend/tensor/tensor.h"

namespace attend::train {

class ListMemory {
 public:
  // for_each_list(fn) calls fn(list) for every list, always in the same order.
  template <class ForEachList>
  ListMemory(Backend& backend, const ForEachList& for_each_list) {
    std::size_t total = 0;
    for_each_list([&](const std::vector<std::int32_t>& list) { total += aligned(list.size()); });
    memory_ = make_tensor(backend, {static_cast<std::int64_t>(total)}, DType::i32);
  }

  // The place of the next list; undefined when it is empty.
  Tensor take(const std::vector<std::int32_t>& list, const Shape& shape) {
    const auto count = static_cast<std::int64_t>(list.size());
    const Tensor part = memory_.slice_first(taken_, count);
    taken_ += static_cast<std::int64_t>(aligned(list.size()));
    return count == 0 ? Tensor() : part.reshape(shape);
  }

  // Lists of the same lengths into their places; staged is memory to work in.
  template <class ForEachList>
  void put(const ForEachList& for_each_list, std::vector<std::int32_t>& staged) const {
    staged.assign(static_cast<std::size_t>(memory_.size()), 0);
    std::size_t at = 0;
    for_each_list([&](const std::vector<std::int32_t>& list) {
      std::ranges::copy(list, staged.begin() + static_cast<std::ptrdiff_t>(at));
      at += aligned(list.size());
    });
    upload(memory_, staged);
  }

 private:
  // Lists start on 256-byte boundaries.
  static std::size_t aligned(std::size_t count) { return (count + 63) / 64 * 64; }

  Tensor memory_;
  std::int64_t taken_ = 0;
};

}  // namespace attend::train
