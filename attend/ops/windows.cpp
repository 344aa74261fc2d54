// Cyclic shifts, windows and relative positions for Swin.
#include "attend/ops/windows.h"

#include <array>
#include <cmath>

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/ops/embedding.h"
#include "attend/ops/gradient.h"
#include "attend/ops/layout.h"
#include "attend/ops/walks.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

// The shift of each axis, in [0, its size).
using Moves = std::array<std::int64_t, Shape::kMaxRank>;

// Copies the boxes, at most 2^n for n axes, that a cyclic shift cuts a tensor into.
void copy_rolled(const Tensor& from, const Tensor& to, const Moves& moves, bool accumulate) {
  const Shape& shape = from.shape();
  for (unsigned box = 0; box < 1u << shape.rank(); ++box) {
    Walk source = walk(from), target = walk(to);
    Shape extent = shape;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const std::int64_t by = moves[static_cast<std::size_t>(axis)], rest = shape[axis] - by;
      const bool wraps = box >> axis & 1u;  // the last `by` entries, which come to the front
      extent.set(axis, wraps ? by : rest);
      if (wraps)
        source = advanced(source, axis, rest);
      else
        target = advanced(target, axis, by);
    }
    if (extent.size() > 0) from.backend().strided_copy(source, target, extent, accumulate);
  }
}

}  // namespace

Tensor roll(const Tensor& x, std::initializer_list<Shift> shifts) {
  Moves moves{}, back{};
  for (const Shift& shift : shifts) {
    const int axis = check_axis("roll", x, shift.axis);
    const std::int64_t size = x.dim(axis);
    std::int64_t& move = moves[static_cast<std::size_t>(axis)];
    if (size > 0) move = (move + shift.by % size + size) % size;
  }
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    back[i] = moves[i] == 0 ? 0 : x.dim(axis) - moves[i];
  }
  const Tensor y = like(x);
  copy_rolled(x, y, moves, false);
  return record(y, {x}, [to = Target(x), back](const Tensor& dy, Grads& grad) {
    write_gradient(grad, to, dy, [&](const Grad& dx) { copy_rolled(dy, dx.into, back, dx.accumulate); });
  });
}

Tensor window_partition(const Tensor& x, std::int64_t w) {
  check(x.defined() && x.rank() == 4 && w > 0 && x.dim(1) % w == 0 && x.dim(2) % w == 0,
        "window_partition: {} does not divide into windows of {} x {}", x.defined() ? x.shape() : Shape{}, w, w);
  const std::int64_t B = x.dim(0), down = x.dim(1) / w, across = x.dim(2) / w, C = x.dim(3);
  // [B, down, w, across, w, C] -> [B, down, across, w, w, C]
  return permute(x.reshape({B, down, w, across, w, C}), {0, 1, 3, 2, 4, 5}).reshape({B * down * across, w * w, C});
}

Tensor window_reverse(const Tensor& x, std::int64_t w, std::int64_t height, std::int64_t width) {
  check(x.defined() && x.rank() == 3 && w > 0 && x.dim(1) == w * w && height > 0 && width > 0 && height % w == 0 &&
            width % w == 0 && x.dim(0) % (height / w * (width / w)) == 0,
        "window_reverse: {} are not the windows of {} x {} in images of {} x {}", x.defined() ? x.shape() : Shape{}, w,
        w, height, width);
  const std::int64_t down = height / w, across = width / w, B = x.dim(0) / (down * across), C = x.dim(2);
  // [B, down, across, w, w, C] -> [B, down, w, across, w, C]
  return permute(x.reshape({B, down, across, w, w, C}), {0, 1, 3, 2, 4, 5}).reshape({B, height, width, C});
}

Tensor pixel_shuffle(const Tensor& x, std::int64_t r) {
  check(x.defined() && x.rank() == 4 && r > 0 && x.dim(3) % (r * r) == 0,
        "pixel_shuffle: {} with a factor of {} wants a multiple of {} channels", x.defined() ? x.shape() : Shape{}, r,
        r * r);
  const std::int64_t B = x.dim(0), H = x.dim(1), W = x.dim(2), C = x.dim(3) / (r * r);
  // [B, H, W, C, r, r] -> [B, H, r, W, r, C]
  return permute(x.reshape({B, H, W, C, r, r}), {0, 1, 4, 2, 5, 3}).reshape({B, H * r, W * r, C});
}

std::vector<std::int32_t> relative_positions(std::int64_t w) {
  std::vector<std::int32_t> ids;
  for (std::int64_t t = 0; t < w * w; ++t)
    for (std::int64_t s = 0; s < w * w; ++s) {
      // Distances range from -(w - 1) to w - 1 in both directions; adding w - 1 makes them indices.
      const std::int64_t down = t / w - s / w + w - 1, across = t % w - s % w + w - 1;
      ids.push_back(static_cast<std::int32_t>(down * (2 * w - 1) + across));
    }
  return ids;
}

Tensor relative_position_bias(const Tensor& table, const Tensor& ids) {
  check(table.defined() && table.rank() == 2 && ids.defined() && ids.rank() == 1,
        "relative_position_bias: wants a table [distances, H] and ids [T · T], not {} and {}",
        table.defined() ? table.shape() : Shape{}, ids.defined() ? ids.shape() : Shape{});
  const auto places = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(ids.dim(0)))));
  check(places * places == ids.dim(0), "relative_position_bias: {} ids are not those of all pairs", ids.dim(0));
  const Tensor rows = embedding(ids, table);                                // [T · T, H]
  return permute(rows, {1, 0}).reshape({1, table.dim(1), places, places});  // [1, H, T, T]
}

std::vector<float> shifted_window_mask(const ShiftedWindows& args) {
  const auto& [height, width, w, shift, heads] = args;
  check(w > 0 && height % w == 0 && width % w == 0 && shift >= 0 && shift < w && heads > 0,
        "shifted_window_mask: windows of {} shifted by {} in {} x {}", w, shift, height, width);
  // The image after the shift is three bands per side: whole windows, what was neighbours, what came round.
  const auto band = [w = w, shift = shift](std::int64_t at, std::int64_t size) {
    return at < size - w ? 0 : at < size - shift ? 1 : 2;
  };
  std::vector<float> mask;
  for (std::int64_t i = 0; i < height / w * (width / w); ++i) {
    const std::int64_t top = i / (width / w) * w, left = i % (width / w) * w;
    const auto region = [&, height = height, width = width, w = w](std::int64_t t) {
      return 3 * band(top + t / w, height) + band(left + t % w, width);
    };
    for (std::int64_t head = 0; head < heads; ++head)
      for (std::int64_t t = 0; t < w * w; ++t)
        for (std::int64_t s = 0; s < w * w; ++s) mask.push_back(region(t) == region(s) ? 0.0f : -100.0f);
  }
  return mask;
}

}  // namespace attend::ops
