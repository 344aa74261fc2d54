// Where the windows of an image lie: convolution, pooling, resizing. Images are [B, H, W, C]. Every function here is
// constexpr, so that both devices and both directions ask the same ones.
#pragma once

#include <cstdint>

namespace attend {

struct Extent2 {
  std::int64_t h = 1, w = 1;
};

// Result o reads places o · stride - padding + tap · dilation, as far as they are in the image.
//   x [B, H, W, C]   weight [O, kh, kw, C / groups]   y [B, OH, OW, O]; group g is inputs and outputs [g/G, (g + 1)/G)
struct Convolution {
  Extent2 stride = {}, padding = {0, 0}, dilation = {};
  std::int64_t groups = 1;
};

enum class PoolKind : std::uint8_t { max, average, adaptive };

// adaptive: the windows share the image out evenly, and kernel, stride and padding do not count.
struct Pooling {
  PoolKind kind = PoolKind::max;
  Extent2 kernel = {}, stride = {}, padding = {0, 0};
  bool counts_padding = true;  // an average divides by the padding too
};

enum class ResizeMode : std::uint8_t { nearest, bilinear, bicubic };

struct Resizing {
  ResizeMode mode = ResizeMode::bilinear;
  bool align_corners = false;  // the centres of the corner pixels stay where they are, not the image's edges
};

namespace images {

// a / b rounded down and up, b > 0.
constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// How many windows fit.
constexpr std::int64_t windows(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                               std::int64_t dilation = 1) {
  return floor_divide(size + 2 * padding - dilation * (kernel - 1) - 1, stride) + 1;
}

// The other way round: which result reads place `at` with this tap; -1: none.
constexpr std::int64_t reader(std::int64_t at, std::int64_t tap, std::int64_t stride, std::int64_t padding,
                              std::int64_t dilation, std::int64_t results) {
  const std::int64_t from = at + padding - tap * dilation;
  if (from < 0 || from % stride != 0) return -1;
  const std::int64_t result = from / stride;
  return result < results ? result : -1;
}

struct Span {
  std::int64_t begin = 0, end = 0;
};

// One axis of a pooling, x of `size` and y of `results` places.
struct PoolAxis {
  std::int64_t kernel = 1, stride = 1, padding = 0, size = 1, results = 1;
  bool adaptive = false;

  // The places that result o reads.
  constexpr Span reads(std::int64_t o) const {
    if (adaptive) return {o * size / results, ceil_divide((o + 1) * size, results)};
    const std::int64_t begin = o * stride - padding, end = begin + kernel;
    return {begin < 0 ? 0 : begin, end > size ? size : end};
  }
  // The results that read place i.
  constexpr Span readers(std::int64_t i) const {
    if (adaptive) return {i * results / size, ceil_divide((i + 1) * results, size)};
    const std::int64_t begin = ceil_divide(i + padding - kernel + 1, stride), end = (i + padding) / stride + 1;
    return {begin < 0 ? 0 : begin, end > results ? results : end};
  }
  // How many places result o counts, padding among them: as far as the padding goes.
  constexpr std::int64_t padded(std::int64_t o) const {
    if (adaptive) return reads(o).end - reads(o).begin;
    const std::int64_t begin = o * stride - padding, end = begin + kernel;
    return (end > size + padding ? size + padding : end) - begin;
  }
};

constexpr PoolAxis rows_of(const Pooling& pool, std::int64_t size, std::int64_t results) {
  return {pool.kernel.h, pool.stride.h, pool.padding.h, size, results, pool.kind == PoolKind::adaptive};
}
constexpr PoolAxis columns_of(const Pooling& pool, std::int64_t size, std::int64_t results) {
  return {pool.kernel.w, pool.stride.w, pool.padding.w, size, results, pool.kind == PoolKind::adaptive};
}
// What an average over window (oh, ow) is divided by.
constexpr float divisor(const Pooling& pool, const PoolAxis& rows, const PoolAxis& columns, std::int64_t oh,
                        std::int64_t ow) {
  if (pool.counts_padding) return static_cast<float>(rows.padded(oh) * columns.padded(ow));
  const Span h = rows.reads(oh), w = columns.reads(ow);
  return static_cast<float>((h.end - h.begin) * (w.end - w.begin));
}

// What a result of a resize is made of, along one axis; no place comes twice except at the borders.
struct Taps {
  int count = 0;
  std::int64_t at[4] = {};
  float weight[4] = {};
};

// One axis of a resize, from `size` to `results` places.
struct ResizeAxis {
  Resizing how;
  std::int64_t size = 1, results = 1;

  constexpr float step() const {
    if (!how.align_corners) return static_cast<float>(size) / static_cast<float>(results);
    return results > 1 ? static_cast<float>(size - 1) / static_cast<float>(results - 1) : 0.0f;
  }
  constexpr float source(std::int64_t o) const {
    return how.align_corners ? step() * static_cast<float>(o) : step() * (static_cast<float>(o) + 0.5f) - 0.5f;
  }
  constexpr std::int64_t inside(std::int64_t i) const { return i < 0 ? 0 : i >= size ? size - 1 : i; }

  constexpr Taps taps(std::int64_t o) const {
    Taps taps;
    if (how.mode == ResizeMode::nearest) {  // whole numbers, so that no rounding moves a border
      taps.count = 1, taps.at[0] = inside(o * size / results), taps.weight[0] = 1;
      return taps;
    }
    const bool cubic = how.mode == ResizeMode::bicubic;
    float from = source(o);
    if (!cubic && from < 0) from = 0;
    std::int64_t low = static_cast<std::int64_t>(from);
    if (static_cast<float>(low) > from) --low;
    const float t = from - static_cast<float>(low);
    if (!cubic) {
      taps.count = 2;
      taps.at[0] = inside(low), taps.at[1] = inside(low + 1);
      taps.weight[0] = 1 - t, taps.weight[1] = t;
      return taps;
    }
    taps.count = 4;
    for (int k = 0; k < 4; ++k) {
      taps.at[k] = inside(low - 1 + k);
      const float distance = t + 1 - static_cast<float>(k);
      taps.weight[k] = cubic_weight(distance < 0 ? -distance : distance);
    }
    return taps;
  }

  // How much place i weighs in result o.
  constexpr float share(std::int64_t o, std::int64_t i) const {
    const Taps all = taps(o);
    float sum = 0;
    for (int k = 0; k < all.count; ++k)
      if (all.at[k] == i) sum += all.weight[k];
    return sum;
  }

  // Results among which are all that read place i, and no others where the nearest is taken. At the borders that is
  // everything beyond, too.
  constexpr Span readers(std::int64_t i) const {
    if (how.mode == ResizeMode::nearest) return {ceil_divide(i * results, size), ceil_divide((i + 1) * results, size)};
    const float each = step();
    if (each == 0) return {0, results};
    constexpr std::int64_t kReach = 3;
    const float scale = 1 / each;
    std::int64_t begin = static_cast<std::int64_t>(static_cast<float>(i - kReach) * scale) - 2;
    std::int64_t end = static_cast<std::int64_t>(static_cast<float>(i + kReach + 1) * scale) + 3;
    if (i == 0 || begin < 0) begin = 0;
    if (i == size - 1 || end > results) end = results;
    return {begin, end};
  }

  // Keys 1981 with a = -0.75, as most libraries have it.
  static constexpr float cubic_weight(float x) {
    constexpr float a = -0.75f;
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    return 0;
  }
};

}  // namespace images
}  // namespace attend
