// How a copy engine that knows windows (cuTensorMapEncodeIm2col) walks an image [B, H, W, C] for the three products of
// a convolution. It visits base places of a box, pixel by pixel through rows and images; each tap reads the image at
// the base place plus an offset that is never negative, and what lies outside comes as zeros. The box is said by its
// corners: `lower` is its first place, `upper` how far its last one is beyond the image's last place.
//
//   forward, weight   the base of a result is the first place of its window; tap i is i · dilation further
//   input             the places of x with the same remainder by the stride are read by the same taps. Each such class
//                     is a walk over dy of its own, place by place
//
// Plain arithmetic, the same on host and device: tests/tensor/window_walk_test.cpp copies as the engine does.
#pragma once

#include <algorithm>
#include <numeric>

#include "attend/tensor/images.h"

namespace attend::images {

// Base places begin, begin + step, .. along one axis of an image of `size` places.
struct WalkAxis {
  int begin = 0, step = 1, count = 0, size = 0;

  constexpr int lower() const { return begin; }
  constexpr int upper() const { return begin + (count - 1) * step + 1 - size; }
};

// The taps that read along one axis: tap first + j · step reads at offset + j · offset_step.
struct TapAxis {
  int first = 0, step = 1, count = 0, offset = 0, offset_step = 1;

  constexpr int tap(int j) const { return first + j * step; }
  constexpr int offset_of(int j) const { return offset + j * offset_step; }
};

// Where the results of a walk lie along one axis: first, first + step, ..
struct PlaceAxis {
  int first = 0, step = 1;
};

struct AxisWalk {
  WalkAxis walk;
  TapAxis taps;
  PlaceAxis places;
};

// One axis of the forward product.
constexpr AxisWalk forward_walk(int size, int results, int kernel, int stride, int padding, int dilation) {
  return {{-padding, stride, results, size}, {0, 1, kernel, 0, dilation}, {0, 1}};
}

// One axis of the gradient of the input: the places rest, rest + stride, .. of `size`. Place rest + t · stride is read
// by result t + (rest + padding - tap · dilation) / stride, for the taps where that leaves no remainder; maybe for
// none.
constexpr AxisWalk input_walk(int size, int results, int kernel, int stride, int padding, int dilation, int rest) {
  AxisWalk axis;
  axis.places = {rest, stride};
  axis.walk = {0, 1, rest < size ? (size - rest + stride - 1) / stride : 0, results};
  const int common = std::gcd(stride, dilation);
  axis.taps = {0, stride / common, 0, 0, -dilation / common};
  const auto fits = [&](int tap) { return (rest + padding - tap * dilation) % stride == 0; };
  int first = 0;
  while (first < kernel && !fits(first)) ++first;
  if (first == kernel) return axis;
  axis.taps.first = first;
  axis.taps.count = (kernel - 1 - first) / axis.taps.step + 1;
  const int last = axis.taps.tap(axis.taps.count - 1);
  axis.walk.begin = (rest + padding - last * dilation) / stride;  // without remainder
  axis.taps.offset = -(axis.taps.count - 1) * axis.taps.offset_step;
  return axis;
}

// Where a tile of results begins: the image, and the base place in it.
struct WalkBase {
  int image = 0, h = 0, w = 0;
};

struct WindowWalk {
  int images = 0;
  AxisWalk h, w;

  constexpr int rows() const { return images * h.walk.count * w.walk.count; }  // results in all
  constexpr int taps() const { return h.taps.count * w.taps.count; }

  constexpr WalkBase base_of(int row) const {
    const int line = row / w.walk.count, image = line / h.walk.count;
    return {image, h.walk.begin + (line - image * h.walk.count) * h.walk.step,
            w.walk.begin + (row - line * w.walk.count) * w.walk.step};
  }
  // The place of a result among those of [images, height, width]; -1 for rows behind the last.
  constexpr int place_of(int row, int height, int width) const {
    if (row >= rows()) return -1;
    const int line = row / w.walk.count, image = line / h.walk.count;
    const int at_h = h.places.first + (line - image * h.walk.count) * h.places.step;
    const int at_w = w.places.first + (row - line * w.walk.count) * w.places.step;
    return (image * height + at_h) * width + at_w;
  }
};

// Whether the engine's fields hold it: corners of eight bits with a sign, offsets of eight without, steps to eight.
constexpr bool walk_fits(const AxisWalk& axis) {
  const auto byte = [](int corner) { return corner >= -128 && corner <= 127; };
  const int furthest = std::max(axis.taps.offset, axis.taps.offset_of(axis.taps.count - 1));
  return axis.walk.count > 0 && byte(axis.walk.lower()) && byte(axis.walk.upper()) && furthest <= 255 &&
         axis.walk.step <= 8;
}
constexpr bool walk_fits(const WindowWalk& walk) { return walk_fits(walk.h) && walk_fits(walk.w); }

// The places of an axis that a stage of the summed axis covers: taps, the last one first to change, and of each the
// channels in blocks of 64.
struct TapStep {
  int down = 0, across = 0, block = 0;

  constexpr void advance(const WindowWalk& walk, int blocks) {
    if (++block < blocks) return;
    block = 0;
    if (++across < walk.w.taps.count) return;
    across = 0, ++down;
  }
  static constexpr TapStep at(const WindowWalk& walk, int blocks, int step) {
    const int tap = step / blocks, down = tap / walk.w.taps.count;
    return {down, tap - down * walk.w.taps.count, step - tap * blocks};
  }
  // The tap's number in a weight [O, kh, kw, C].
  constexpr int tap(const WindowWalk& walk, int kernel_w) const {
    return walk.h.taps.tap(down) * kernel_w + walk.w.taps.tap(across);
  }
};

// A summed axis of `steps` stages in parts that differ by at most one stage.
struct StageParts {
  int steps = 0, parts = 1;

  constexpr int begin(int part) const { return static_cast<int>(static_cast<std::int64_t>(steps) * part / parts); }
  constexpr int end(int part) const { return begin(part + 1); }
};

// Images of few channels, folded: a pixel of the folded image holds `down` x `across` pixels and, behind them, zeros up
// to a multiple of eight numbers. A window's row is then one run of memory, and the convolution one of kernel x 1
// windows of `run` channels with stride 1 and without padding.
struct Fold {
  int down = 1, across = 1, channels = 0;  // of a pixel before
  int padding_h = 0, padding_w = 0;
  int width = 0;             // numbers of a folded pixel
  int kernel_h = 0;          // rows of a window, folded
  int run = 0;               // numbers of a window's row
  int height = 0, line = 0;  // folded pixels of an image, down and across

  static constexpr Fold of(const Extent2& kernel, const Extent2& stride, const Extent2& padding, int channels,
                           int results_h, int results_w) {
    Fold fold;
    fold.down = static_cast<int>(stride.h), fold.across = static_cast<int>(stride.w), fold.channels = channels;
    fold.padding_h = static_cast<int>(padding.h), fold.padding_w = static_cast<int>(padding.w);
    fold.width = (fold.down * fold.across * channels + 7) / 8 * 8;
    fold.kernel_h = (static_cast<int>(kernel.h) + fold.down - 1) / fold.down;
    const int kernel_w = (static_cast<int>(kernel.w) + fold.across - 1) / fold.across;
    fold.run = kernel_w * fold.width;
    fold.height = results_h + fold.kernel_h - 1;
    fold.line = results_w + kernel_w - 1;
    return fold;
  }

  // Where number `at` of a folded pixel comes from; valid is false for the zeros behind.
  struct Source {
    int h = 0, w = 0, channel = 0;
    bool valid = false;
  };
  constexpr Source source(int row, int column, int at) const {
    const int pixel = at / channels, a = pixel / across;
    return {row * down + a - padding_h, column * across + (pixel - a * across) - padding_w, at - pixel * channels,
            pixel < down * across};
  }
  // The same of number `at` of row `row` of a folded window.
  constexpr Source tap_source(int row, int at) const {
    const int column = at / width;
    Source from = source(row, column, at - column * width);
    from.h += padding_h, from.w += padding_w;
    return from;
  }
  // Number of tap (i, j) and channel in a folded window [kernel_h, run].
  constexpr int place_of(int i, int j, int channel) const {
    const int row = i / down, column = j / across;
    return row * run + column * width + ((i - row * down) * across + (j - column * across)) * channels + channel;
  }
};

}  // namespace attend::images
