// Images in windows, for attention inside them (Swin, Liu et al. 2021, section 3.2): shifting, cutting, joining, and
// the bias of the scores. ops::attention treats windows as a batch. Its bias AttentionMask::bias [windows, H, T, T]
// fits, because group b % G belongs to sequence b.
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

// A cyclic shift: y[i + by] = x[i], where entries that leave at one end enter at the other.
Tensor roll(const Tensor& x, std::initializer_list<Shift> shifts);

// x [B, H, W, C] -> [B·H/w·W/w, w·w, C], row by row; H and W must be multiples of w.
Tensor window_partition(const Tensor& x, std::int64_t window);
// The inverse: x [B·H/w·W/w, w·w, C] -> [B, H, W, C].
Tensor window_reverse(const Tensor& x, std::int64_t window, std::int64_t height, std::int64_t width);

// Moves channels to places, like torch's pixel_shuffle: x [B, H, W, C·r·r] -> [B, H·r, W·r, C].
Tensor pixel_shuffle(const Tensor& x, std::int64_t factor);

// For each pair of places in a w x w window, the row of a table of (2w - 1)² distances: [w⁴].
std::vector<std::int32_t> relative_positions(std::int64_t window);
// The bias [1, H, T, T] of attention in a window of T = w·w places, from table [(2w - 1)², H] and the ids above (Liu et
// al. 2021, equation 4).
Tensor relative_position_bias(const Tensor& table, const Tensor& ids);

// The mask of a shifted image, [windows, H, T, T]: -100 for pairs of places that were not neighbours before the shift,
// else 0. ops::add adds a relative position bias [H, T, T] to it.
struct ShiftedWindows {
  std::int64_t height, width, window, shift, heads;
};
std::vector<float> shifted_window_mask(const ShiftedWindows& windows);

}  // namespace attend::ops
