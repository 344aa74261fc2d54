#include "attend/view/terminal_image.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attend/base/error.h"

namespace attend::view {

namespace {

constexpr int kMostColumns = 40;

// The mean of the image's pixels in cell (x, y) of columns x rows.
std::array<int, 3> mean_of(const image::Image& image, int x, int y, int columns, int rows) {
  const int left = x * image.width / columns, right = std::max(left + 1, (x + 1) * image.width / columns);
  const int top = y * image.height / rows, bottom = std::max(top + 1, (y + 1) * image.height / rows);
  std::array<int, 3> sum = {};
  for (int row = top; row < bottom; ++row)
    for (int column = left; column < right; ++column)
      for (std::size_t c = 0; c < 3; ++c) sum[c] += image.row(row)[static_cast<std::size_t>(3 * column) + c];
  for (int& one : sum) one /= (bottom - top) * (right - left);
  return sum;
}

std::string half_blocks(const image::Image& image, int line, int columns, int rows) {
  std::string text;
  for (int x = 0; x < columns; ++x) {
    const auto top = mean_of(image, x, 2 * line, columns, rows), low = mean_of(image, x, 2 * line + 1, columns, rows);
    text += fmt::format("\x1b[38;2;{};{};{};48;2;{};{};{}m▀", top[0], top[1], top[2], low[0], low[1], low[2]);
  }
  return text + "\x1b[0m";
}

std::string shades(const image::Image& image, int line, int columns, int rows) {
  constexpr std::string_view kShades = " .:-=+*#%@";
  std::string text;
  for (int x = 0; x < columns; ++x) {
    const auto [red, green, blue] = mean_of(image, x, line, columns, rows);
    const int bright = (299 * red + 587 * green + 114 * blue) / 1000;
    text += kShades[static_cast<std::size_t>(bright) * kShades.size() / 256];
  }
  return text;
}

}  // namespace

std::string draw(const image::Image& image, const Heat& heat, const Terminal& terminal) {
  image::check_image(image, "terminal");
  const bool both = !heat.weights.empty();
  const int columns = std::clamp((terminal.width - 2) / (both ? 2 : 1), 8, kMostColumns);
  // A character is about twice as high as wide; what would be very long is squeezed.
  const auto lines = static_cast<int>(
      std::clamp<std::int64_t>(std::int64_t{columns} * image.height / image.width / 2, 1, 2 * columns));
  const image::Image bright = !both ? image::Image() : terminal.color ? lit(image, heat) : dimmed(image, heat);
  const auto line_of = [&](const image::Image& one, int line) {
    return terminal.color ? half_blocks(one, line, columns, 2 * lines) : shades(one, line, columns, lines);
  };
  std::string text;
  for (int line = 0; line < lines; ++line) {
    text += line_of(image, line);
    if (both) text += "  " + line_of(bright, line);
    while (!terminal.color && !text.empty() && text.back() == ' ') text.pop_back();
    text += '\n';
  }
  return text;
}

}  // namespace attend::view
