// The keys and values of positions already computed, so that decoding one more token costs one more token.
#pragma once

#include <cstdint>
#include <span>

#include "attend/tensor/tensor.h"

namespace attend::nn {

// One layer's cache: [rows, capacity, 2·C], keys in the first C columns, values in the rest. It grows by doubling, so
// appending never copies more than it has written.
class KvCache {
 public:
  KvCache(Backend& backend, std::int64_t rows, std::int64_t width, DType dtype);

  // keys_values [rows, 2·C] (rows may have gaps) become position length() of every row.
  void append(const Tensor& keys_values);
  // Row i continues what row from[i] had; from is i32 on the device and may be shorter or longer than before.
  void reorder(const Tensor& from);

  std::int64_t length() const { return length_; }
  // [rows, capacity, C] windows: attention must be told length() as key_lengths.
  Tensor keys() const { return memory_.columns(0, width_); }
  Tensor values() const { return memory_.columns(width_, width_); }

 private:
  void reserve(std::int64_t positions);

  std::int64_t width_, length_ = 0;
  Tensor memory_;
};

}  // namespace attend::nn
