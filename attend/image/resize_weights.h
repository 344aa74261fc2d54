// The weights of one axis of a resize: which pixels an output pixel is made of, and how much each counts.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/image/resize.h"

namespace attend::image {

inline constexpr int kWeightBits = 22;  // Pillow's: 32, less eight of the pixel and two for sums beyond 1
struct Axis {
  int source = 0, target = 0;  // pixels
  float begin = 0, end = 0;    // the part of the source that is resized
  int first = 0, last = 0;     // the part of the target that is wanted
};

struct Weights {
  struct Taps {
    int from, count;
  };
  int bits = kWeightBits;  // a weight of 1 is 2^bits
  std::vector<Taps> taps;  // of each output pixel
  std::size_t stride = 0;  // from one pixel's weights to the next one's
  std::vector<std::int32_t> values;

  const std::int32_t* of(std::size_t pixel) const { return values.data() + pixel * stride; }
};

// The same in groups of as many RGB pixels as a vector of 16 bytes holds, the same number of groups for every output
// pixel. What is not used is 0, and at most kTapGroup pixels are read behind the last.
inline constexpr int kTapGroup = 5;
inline constexpr int kGroupStride = 8;  // weights of a group and three zeros
struct GroupedWeights {
  int bits = kWeightBits;
  std::vector<int> from;  // the first pixel of each output pixel's groups
  int groups = 0;
  std::vector<std::int32_t> values;
};

double filter_support(Filter filter);
Weights weights_of(const Axis& axis, Filter filter, Precision precision);
GroupedWeights grouped(const Weights& weights, int source);

}  // namespace attend::image
