// How far two runs are apart.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "attend/checkpoint/safetensors.h"

namespace attend::test {

// The largest difference between what two runs have come to: weights, moments, averages. 0: they are the same bits.
inline double difference_of_states(const std::filesystem::path& a, const std::filesystem::path& b) {
  const checkpoint::Safetensors one = checkpoint::Safetensors::open((a / "state.safetensors").string());
  const checkpoint::Safetensors other = checkpoint::Safetensors::open((b / "state.safetensors").string());
  double largest = 0;
  for (const checkpoint::StoredTensor& tensor : one.tensors()) {
    const auto x = tensor.bytes, y = other[tensor.name].bytes;
    EXPECT_EQ(x.size(), y.size()) << tensor.name;
    for (std::size_t at = 0; at + 4 <= std::min(x.size(), y.size()); at += 4) {
      float left = 0, right = 0;
      std::copy_n(x.data() + at, 4, reinterpret_cast<std::byte*>(&left));
      std::copy_n(y.data() + at, 4, reinterpret_cast<std::byte*>(&right));
      if (std::memcmp(&left, &right, 4) != 0)
        largest = std::max(largest, std::abs(static_cast<double>(left) - static_cast<double>(right)) + 1e-30);
    }
  }
  return largest;
}

}  // namespace attend::test
