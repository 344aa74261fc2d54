#include "attend/view/tiles_figure.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "attend/base/error.h"
#include "attend/image/resize.h"
#include "attend/view/text_width.h"

namespace attend::view {

namespace {

constexpr double kTilesMargin = 16, kTilesGap = 14, kTileTitle = 18, kTilesTitle = 24;
constexpr std::size_t kLongestTileTitle = 22;

// Height by width; what is longer than that is squeezed.
double shape_of(const image::Image& image) {
  constexpr double kLongest = 4;
  return std::clamp(static_cast<double>(image.height) / image.width, 1 / kLongest, kLongest);
}

// One line of characters: of two rows of pixels in colour, of one in shades.
std::string tile_line(const image::Image& image, int line, bool color) {
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

std::string padded_title(std::string_view text, std::size_t width) {
  const std::string shown = shortened(printable(text), width);
  return shown + std::string(width - std::min(width, columns_of(shown)), ' ');
}

}  // namespace

Figure tiles_figure(const std::vector<Tile>& tiles, const TilesOptions& options) {
  check(!tiles.empty() && options.across > 0, "tiles: there are none");
  const double wide = options.width, high = wide * shape_of(tiles.front().image);
  const double head = kTilesMargin + (options.title.empty() ? 0 : kTilesTitle);
  const std::size_t columns = std::min(options.across, tiles.size()), rows = (tiles.size() + columns - 1) / columns;
  const std::string title = printable(options.title);
  Figure page{.width = kTilesMargin + static_cast<double>(columns) * (wide + kTilesGap) - kTilesGap + kTilesMargin,
              .height = head + static_cast<double>(rows) * (high + kTileTitle + kTilesGap) - kTilesGap + kTilesMargin};
  page.width = std::max(page.width, 2 * kTilesMargin + 8.6 * static_cast<double>(columns_of(title)));
  if (!title.empty())
    page.texts.push_back({.x = kTilesMargin, .y = kTilesMargin + 12, .text = title, .size = 15, .bold = true});
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const double left = kTilesMargin + static_cast<double>(i % columns) * (wide + kTilesGap);
    const double top = head + static_cast<double>(i / columns) * (high + kTileTitle + kTilesGap);
    page.texts.push_back({.x = left + wide / 2,
                          .y = top + kTileTitle - 5,
                          .text = shortened(printable(tiles[i].title), kLongestTileTitle),
                          .anchor = Figure::Anchor::middle});
    page.pixels.push_back({left, top + kTileTitle, wide, high, tiles[i].image});
  }
  return page;
}

std::string draw(const std::vector<Tile>& tiles, const Terminal& terminal) {
  if (tiles.empty()) return {};
  constexpr int kWidest = 24;
  const int width = std::clamp(terminal.width - 1, 8, kWidest);
  const int lines = std::max(1, static_cast<int>(width * shape_of(tiles.front().image) / 2));
  const auto across = static_cast<std::size_t>(std::max(1, (terminal.width + 1) / (width + 2)));
  std::vector<image::Image> small;
  for (const Tile& tile : tiles)
    small.push_back(image::resize(tile.image, width, 2 * lines, {.filter = image::Filter::box}));
  std::string text;
  for (std::size_t first = 0; first < tiles.size(); first += across) {
    const std::size_t last = std::min(first + across, tiles.size());
    for (int line = -1; line < lines; ++line) {
      std::string row;
      for (std::size_t i = first; i < last; ++i)
        row += (i > first ? "  " : "") + (line < 0 ? padded_title(tiles[i].title, static_cast<std::size_t>(width))
                                                   : tile_line(small[i], line, terminal.color));
      while (line < 0 && !row.empty() && row.back() == ' ') row.pop_back();
      text += row + '\n';
    }
  }
  return text;
}

}  // namespace attend::view
