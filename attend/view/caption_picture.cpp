#include "attend/view/caption_picture.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "attend/base/error.h"
#include "attend/image/resize.h"
#include "attend/view/text_width.h"

namespace attend::view {

namespace {

constexpr double kDark = 0.15;  // how much is left of a place that is not looked at

void check_caption(const CaptionPicture& caption) {
  image::check_image(caption.picture, "caption");
  check(caption.rows > 0 && caption.columns > 0 &&
            caption.weights.size() == caption.words.size() * caption.rows * caption.columns,
        "caption: {} weights for {} words and {} x {} places", caption.weights.size(), caption.words.size(),
        caption.rows, caption.columns);
}

// The weight at a point of the picture (0 to 1 each way), between the middles of the four places around it.
double weight_at(const CaptionPicture& caption, std::size_t word, double x, double y) {
  const auto at = [](double place, std::size_t count) {
    return std::clamp(place * static_cast<double>(count) - 0.5, 0.0, static_cast<double>(count - 1));
  };
  const double column = at(x, caption.columns), row = at(y, caption.rows);
  const auto left = static_cast<std::size_t>(column), top = static_cast<std::size_t>(row);
  const std::size_t right = std::min(left + 1, caption.columns - 1), bottom = std::min(top + 1, caption.rows - 1);
  const double u = column - static_cast<double>(left), v = row - static_cast<double>(top);
  const auto weight = [&](std::size_t r, std::size_t c) {
    return static_cast<double>(caption.weights[(word * caption.rows + r) * caption.columns + c]);
  };
  return (1 - v) * ((1 - u) * weight(top, left) + u * weight(top, right)) +
         v * ((1 - u) * weight(bottom, left) + u * weight(bottom, right));
}

// One line of characters: of two rows of pixels in colour, of one in shades.
std::string line_of(const image::Image& image, int line, bool color) {
  constexpr std::string_view kShades = " .:-=+*#%@";
  std::string text;
  for (int x = 0; x < image.width; ++x) {
    const std::uint8_t *top = image.row(2 * line) + 3 * x, *low = image.row(2 * line + 1) + 3 * x;
    if (color) {
      text += fmt::format("\x1b[38;2;{};{};{};48;2;{};{};{}m▀", top[0], top[1], top[2], low[0], low[1], low[2]);
      continue;
    }
    const auto bright = [](const std::uint8_t* pixel) { return 299 * pixel[0] + 587 * pixel[1] + 114 * pixel[2]; };
    const auto mean = static_cast<std::size_t>((bright(top) + bright(low)) / 2000);
    text += kShades[std::min(mean * kShades.size() / 256, kShades.size() - 1)];
  }
  return color ? text + "\x1b[0m" : text;
}

std::string padded(std::string_view text, std::size_t width) {
  const std::string shown = shortened(printable(text), width);
  return shown + std::string(width - std::min(width, columns_of(shown)), ' ');
}

struct Tile {
  std::string title;
  image::Image image;
};

// The picture itself first.
std::vector<Tile> tiles_of(const CaptionPicture& caption, int width, int height) {
  const image::Image whole = image::resize(caption.picture, width, height, {.filter = image::Filter::box});
  std::vector<Tile> tiles = {{"", whole}};
  for (std::size_t i = 0; i < caption.words.size(); ++i)
    tiles.push_back({caption.words[i], seen_by(caption, i, width, height)});
  return tiles;
}

}  // namespace

image::Image seen_by(const CaptionPicture& caption, std::size_t word, int width, int height) {
  check_caption(caption);
  check(word < caption.words.size(), "caption: there is no word {} among {}", word, caption.words.size());
  image::Image result = image::resize(caption.picture, width, height, {.filter = image::Filter::box});
  const auto begin = caption.weights.begin() + static_cast<std::ptrdiff_t>(word * caption.rows * caption.columns);
  const double largest = *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(caption.rows * caption.columns));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const double weight = weight_at(caption, word, (x + 0.5) / width, (y + 0.5) / height);
      const double share = largest > 0 ? std::clamp(weight / largest, 0.0, 1.0) : 0;
      for (int c = 0; c < 3; ++c) {
        std::uint8_t& pixel = result.row(y)[3 * x + c];
        pixel = static_cast<std::uint8_t>(std::lround(pixel * (kDark + (1 - kDark) * share)));
      }
    }
  return result;
}

std::string draw(const CaptionPicture& caption, const Terminal& terminal) {
  check_caption(caption);
  constexpr int kWidest = 24;
  const int width = std::clamp(terminal.width - 1, 8, kWidest);
  const int lines = std::max(1, width * caption.picture.height / caption.picture.width / 2);
  const auto across = static_cast<std::size_t>(std::max(1, (terminal.width + 1) / (width + 2)));
  const std::vector<Tile> tiles = tiles_of(caption, width, 2 * lines);
  std::string text;
  for (std::size_t first = 0; first < tiles.size(); first += across) {
    const std::size_t last = std::min(first + across, tiles.size());
    for (int line = -1; line < lines; ++line) {
      std::string row;
      for (std::size_t i = first; i < last; ++i)
        row += (i > first ? "  " : "") + (line < 0 ? padded(tiles[i].title, static_cast<std::size_t>(width))
                                                   : line_of(tiles[i].image, line, terminal.color));
      while (line < 0 && !row.empty() && row.back() == ' ') row.pop_back();
      text += row + '\n';
    }
  }
  return text;
}

Picture caption_figure(const CaptionPicture& caption) {
  check_caption(caption);
  // Blocks: fine enough for a picture of a hundred pixels, and few enough for an SVG.
  constexpr int kBlocks = 48;
  constexpr double kBlock = 3, kMargin = 16, kGap = 14, kTitle = 18;
  constexpr std::size_t kAcross = 5;
  const int height = std::max(1, kBlocks * caption.picture.height / caption.picture.width);
  const std::vector<Tile> tiles = tiles_of(caption, kBlocks, height);
  const double wide = kBlocks * kBlock, high = height * kBlock;
  const std::size_t columns = std::min(kAcross, tiles.size()), rows = (tiles.size() + columns - 1) / columns;
  Picture figure{.width = 2 * kMargin + static_cast<double>(columns) * (wide + kGap) - kGap,
                 .height = 2 * kMargin + 24 + static_cast<double>(rows) * (high + kTitle + kGap) - kGap};
  figure.texts.push_back(
      {.x = kMargin, .y = kMargin + 12, .text = printable(caption.caption), .size = 15, .bold = true});
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const double left = kMargin + static_cast<double>(i % columns) * (wide + kGap);
    const double top = kMargin + 24 + static_cast<double>(i / columns) * (high + kTitle + kGap);
    figure.texts.push_back({.x = left + wide / 2,
                            .y = top + kTitle - 5,
                            .text = printable(tiles[i].title),
                            .anchor = Picture::Anchor::middle});
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < kBlocks; ++x) {
        const std::uint8_t* pixel = tiles[i].image.row(y) + 3 * x;
        figure.rects.push_back({.x = left + x * kBlock,
                                .y = top + kTitle + y * kBlock,
                                .width = kBlock,
                                .height = kBlock,
                                .color = {pixel[0], pixel[1], pixel[2]}});
      }
  }
  return figure;
}

}  // namespace attend::view
