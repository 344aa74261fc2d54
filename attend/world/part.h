// Which part of a row of numbers is a rank's, where each has one: all as long as the first, but the last ones, which
// may be shorter or empty.
#pragma once

#include <algorithm>
#include <cstdint>

namespace attend::world {

struct Part {
  std::int64_t begin = 0, count = 0;
  std::int64_t end() const { return begin + count; }
};

inline Part part_of_rank(std::int64_t size, int rank, int ranks) {
  constexpr std::int64_t kAlign = 64;  // numbers: as parameters lie
  const std::int64_t each = (size + kAlign * ranks - 1) / (kAlign * ranks) * kAlign;
  const std::int64_t begin = std::min(size, each * rank);
  return {begin, std::min(each, size - begin)};
}

}  // namespace attend::world
