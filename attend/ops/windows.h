// Images in windows, for attention inside of them (Liu et al. 2021, Swin): shift, cut, put together; and what
// attention adds to its scores there. A batch of windows is a batch to ops::attention, AttentionMask::bias [windows, H,
// T, T] its bias, because group b % G of that belongs to sequence b.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "attend/tensor/tensor.h"

namespace attend::ops {

struct Shift {
  int axis = 0;
  std::int64_t by = 0;
};

// What leaves an axis at one end comes in at the other: y[i + by] = x[i].
Tensor roll(const Tensor& x, std::initializer_list<Shift> shifts);

// x [B, H, W, C] -> [B · H/w · W/w, w · w, C], row by row; H and W must be multiples of w.
Tensor window_partition(const Tensor& x, std::int64_t window);
// The way back: x [B · H/w · W/w, w · w, C] -> [B, H, W, C].
Tensor window_reverse(const Tensor& x, std::int64_t window, std::int64_t height, std::int64_t width);

// Channels to places, as torch's pixel_shuffle: x [B, H, W, C · r · r] -> [B, H · r, W · r, C].
Tensor pixel_shuffle(const Tensor& x, std::int64_t factor);

// For each pair of places of a w x w window the row of a table of (2w - 1)² distances: i32 numbers [w⁴].
std::vector<std::int32_t> relative_positions(std::int64_t window);
// table [(2w - 1)², H], ids as above -> the bias [1, H, T, T] of attention in a window of T = w · w places.
Tensor relative_position_bias(const Tensor& table, const Tensor& ids);

// Which places of a shifted image may not see each other, since they were not neighbours: -100 for those, else 0, as
// [windows, H, T, T]; ops::add adds a relative position bias [H, T, T] to it.
struct ShiftedWindows {
  std::int64_t height, width, window, shift, heads;
};
std::vector<float> shifted_window_mask(const ShiftedWindows& windows);

}  // namespace attend::ops
