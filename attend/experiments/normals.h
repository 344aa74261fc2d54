// Random numbers of a normal distribution, the same for the same seed and stream on every machine.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "attend/base/random.h"

namespace attend::experiments {

// Normal numbers, in pairs (Box and Muller 1958).
class Normals {
 public:
  Normals(std::uint64_t seed, std::uint32_t stream) : seed_(seed), stream_(stream) {}
  double next() {
    if (left_) {
      left_ = false;
      return second_;
    }
    const Random4 words = philox(seed_, stream_, block_++);
    const double radius = std::sqrt(-2 * std::log((words.word[0] + 0.5) / 4294967296.0));
    const double angle = 2 * std::numbers::pi * words.word[1] / 4294967296.0;
    left_ = true, second_ = radius * std::sin(angle);
    return radius * std::cos(angle);
  }

 private:
  std::uint64_t seed_, block_ = 0;
  std::uint32_t stream_;
  double second_ = 0;
  bool left_ = false;
};

// `count` of them.
inline std::vector<float> normal_numbers(std::uint64_t seed, std::uint32_t stream, std::int64_t count) {
  Normals normals(seed, stream);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(normals.next());
  return values;
}

}  // namespace attend::experiments
