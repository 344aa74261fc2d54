#include "attend/view/image_heat.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/image/resize.h"
#include "attend/view/figure_title.h"
#include "attend/view/text_width.h"

namespace attend::view {

namespace {

constexpr double kHeatMargin = 18, kLarge = 260, kThumb = 84, kThumbGap = 10, kRowLabel = 86, kBar = 170;
constexpr Color kHeatQuiet = {102, 102, 102}, kHeatLine = {153, 153, 153}, kHeatInk = {46, 106, 165};
constexpr std::size_t kLongestBarName = 24, kMostLabels = 6;

// Weights as shares: 0 for the smallest of the map, 1 for its largest.
struct HeatRange {
  double least = 0, most = 1;
  double share(double weight) const { return (weight - least) / (most - least); }
};

float largest_of(const Heat& heat) {
  check(heat.weights.size() == heat.rows * heat.columns && !heat.weights.empty(), "heat: {} weights for {} x {} places",
        heat.weights.size(), heat.rows, heat.columns);
  return std::max(1e-12f, *std::max_element(heat.weights.begin(), heat.weights.end()));
}

HeatRange range_of(const Heat& heat) {
  const auto most = static_cast<double>(largest_of(heat));
  const auto least = static_cast<double>(*std::min_element(heat.weights.begin(), heat.weights.end()));
  return {least, std::max(most, least + 1e-12)};
}

// The weight at a point of the image (0 to 1 each way), between the middles of the four places around it.
double weight_at(const Heat& heat, double x, double y) {
  const auto at = [](double place, std::size_t count) {
    return std::clamp(place * static_cast<double>(count) - 0.5, 0.0, static_cast<double>(count - 1));
  };
  const double column = at(x, heat.columns), row = at(y, heat.rows);
  const auto left = static_cast<std::size_t>(column), top = static_cast<std::size_t>(row);
  const std::size_t right = std::min(left + 1, heat.columns - 1), bottom = std::min(top + 1, heat.rows - 1);
  const double u = column - static_cast<double>(left), v = row - static_cast<double>(top);
  const auto weight = [&](std::size_t r, std::size_t c) {
    return static_cast<double>(heat.weights[r * heat.columns + c]);
  };
  return (1 - v) * ((1 - u) * weight(top, left) + u * weight(top, right)) +
         v * ((1 - u) * weight(bottom, left) + u * weight(bottom, right));
}

// The colours of the page (attend/look/web/image_draw.js): the image stays visible under the heat.
constexpr double kHeatRamp[4][3] = {{92, 24, 120}, {187, 48, 98}, {244, 114, 44}, {255, 226, 92}};
constexpr double kHeatOpacity = 0.75;

// share(x, y): the weight of a pixel by the largest.
template <typename Share>
image::Image painted_over(image::Image image, const Share& share_at) {
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) {
      const double share = std::clamp(share_at(x, y), 0.0, 1.0), cover = kHeatOpacity * std::sqrt(share);
      const double at = 3 * share;
      const std::size_t low = std::min(static_cast<std::size_t>(at), std::size_t{2});
      for (int c = 0; c < 3; ++c) {
        const double from = kHeatRamp[low][c], to = kHeatRamp[low + 1][c];
        const double color = from + (to - from) * (at - static_cast<double>(low));
        std::uint8_t& value = image.row(y)[3 * x + c];
        value = static_cast<std::uint8_t>(std::lround(value * (1 - cover) + color * cover));
      }
    }
  return image;
}

void add_square(Figure& page, double x, double y, double side, const image::Image& pixels, bool heat = false) {
  page.pixels.push_back({x, y, side, side, pixels, heat});
  page.rects.push_back({.x = x, .y = y, .width = side, .height = side, .color = kHeatLine, .outline = true});
}

void add_labels(Figure& page, const ImageHeads& from, double x, double y) {
  for (std::size_t i = 0; i < std::min(kMostLabels, from.labels.size()); ++i) {
    const auto& [name, probability] = from.labels[i];
    const double line = y + 38 * static_cast<double>(i);
    page.texts.push_back({.x = x, .y = line + 12, .text = shortened(printable(name), kLongestBarName)});
    page.texts.push_back({.x = x + kBar,
                          .y = line + 12,
                          .text = fmt::format("{:.3f}", probability),
                          .anchor = Figure::Anchor::end,
                          .color = kHeatQuiet});
    page.rects.push_back({x, line + 17, std::max(1.0, kBar * static_cast<double>(probability)), 7, kHeatInk});
  }
}

}  // namespace

image::Image lit(const image::Image& image, const Heat& heat) {
  const HeatRange range = range_of(heat);
  return painted_over(image, [&](int x, int y) {
    const std::size_t row = static_cast<std::size_t>(y) * heat.rows / static_cast<std::size_t>(image.height);
    const std::size_t column = static_cast<std::size_t>(x) * heat.columns / static_cast<std::size_t>(image.width);
    return range.share(static_cast<double>(heat.weights[row * heat.columns + column]));
  });
}

image::Image dimmed(const image::Image& image, const Heat& heat) {
  const float most = largest_of(heat);
  image::Image result = image;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) {
      const std::size_t row = static_cast<std::size_t>(y) * heat.rows / static_cast<std::size_t>(image.height);
      const std::size_t column = static_cast<std::size_t>(x) * heat.columns / static_cast<std::size_t>(image.width);
      const double share = static_cast<double>(heat.weights[row * heat.columns + column] / most);
      for (int c = 0; c < 3; ++c) {
        std::uint8_t& value = result.row(y)[3 * x + c];
        value = static_cast<std::uint8_t>(std::lround(value * (0.12 + 0.88 * std::max(0.0, share))));
      }
    }
  return result;
}

image::Image lit_smoothly(const image::Image& image, const Heat& heat, int width, int height) {
  const HeatRange range = range_of(heat);
  return painted_over(image::resize(image, width, height, {.filter = image::Filter::box}), [&](int x, int y) {
    return range.share(weight_at(heat, (x + 0.5) / width, (y + 0.5) / height));
  });
}

image::Image heat_pixels(const Heat& heat) {
  const float most = largest_of(heat);
  image::Image result(static_cast<int>(heat.columns), static_cast<int>(heat.rows));
  for (std::size_t i = 0; i < heat.weights.size(); ++i) {
    const double share = std::clamp(static_cast<double>(heat.weights[i] / most), 0.0, 1.0);
    std::fill_n(result.pixels.begin() + static_cast<std::ptrdiff_t>(3 * i), 3,
                static_cast<std::uint8_t>(std::lround(255 * share)));
  }
  return result;
}

Figure image_heads(const ImageHeads& from) {
  Figure page;
  double x = kHeatMargin;
  double y = 42 + add_title(page, from.title, {.x = kHeatMargin, .width = 2 * kLarge + kBar + 40});
  page.texts.push_back({.x = x, .y = y - 8, .text = "what the model sees", .color = kHeatQuiet});
  add_square(page, x, y, kLarge, from.image);
  x += kLarge + 20;
  if (!from.large.weights.empty()) {
    page.texts.push_back({.x = x, .y = y - 8, .text = from.large_title, .color = kHeatQuiet});
    add_square(page, x, y, kLarge, lit(from.image, from.large));
    x += kLarge + 20;
  }
  add_labels(page, from, x + 4, y);
  page.width = std::max(page.width, x + kBar + 2 * kHeatMargin);
  y += kLarge + 46;
  std::size_t heads = 0;
  for (const ImageHeads::Row& row : from.rows) heads = std::max(heads, row.heads.size());
  for (std::size_t h = 0; h < heads; ++h)
    page.texts.push_back({.x = kRowLabel + static_cast<double>(h) * (kThumb + kThumbGap) + kThumb / 2,
                          .y = y - 8,
                          .text = fmt::format("head {}", h + 1),
                          .anchor = Figure::Anchor::middle,
                          .color = kHeatQuiet});
  for (const ImageHeads::Row& row : from.rows) {
    page.texts.push_back({.x = kHeatMargin, .y = y + kThumb / 2, .text = row.label});
    for (std::size_t h = 0; h < row.heads.size(); ++h)
      add_square(page, kRowLabel + static_cast<double>(h) * (kThumb + kThumbGap), y, kThumb, heat_pixels(row.heads[h]),
                 true);
    y += kThumb + kThumbGap;
  }
  page.width = std::max(page.width, kRowLabel + static_cast<double>(heads) * (kThumb + kThumbGap) + kHeatMargin);
  page.height = y + kHeatMargin - (from.rows.empty() ? 30 : kThumbGap);
  return page;
}

}  // namespace attend::view
