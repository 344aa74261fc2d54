#include "attend/view/terminal_heat_map.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "attend/base/error.h"

namespace attend::view {

namespace {

// Columns a UTF-8 text takes, counting one a code point.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padded(std::string_view text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return right ? space + std::string(text) : std::string(text) + space;
}

struct Rgb {
  double red, green, blue;
};

// Seven stops from near black through purple and orange to pale yellow: brightness grows with weight, so the map
// reads in grey and to colour-blind eyes too.
Rgb color_of(double weight) {
  constexpr std::array<Rgb, 7> kStops = {
      {{10, 8, 32}, {62, 14, 98}, {122, 28, 109}, {183, 55, 84}, {235, 104, 38}, {250, 175, 30}, {252, 250, 170}}};
  const double at = std::clamp(weight, 0.0, 1.0) * (kStops.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(at), kStops.size() - 2);
  const double t = at - static_cast<double>(i);
  const auto mix = [t](double a, double b) { return std::round(a + (b - a) * t); };
  return {mix(kStops[i].red, kStops[i + 1].red), mix(kStops[i].green, kStops[i + 1].green),
          mix(kStops[i].blue, kStops[i + 1].blue)};
}

std::string cell(double weight, std::size_t width, bool color) {
  if (color) {
    const Rgb rgb = color_of(weight);
    return fmt::format("\x1b[48;2;{:.0f};{:.0f};{:.0f}m{}\x1b[0m", rgb.red, rgb.green, rgb.blue,
                       std::string(width, ' '));
  }
  constexpr std::array<std::string_view, 5> kShades = {" ", "░", "▒", "▓", "█"};
  const auto shade = static_cast<std::size_t>(std::clamp(weight, 0.0, 1.0) * (kShades.size() - 1) + 0.5);
  std::string text;
  for (std::size_t i = 0; i < width; ++i) text += kShades[shade];
  return text;
}

}  // namespace

std::string draw(const HeatMap& map, const Terminal& terminal) {
  check(map.weights.size() == map.rows.size() * map.columns.size(), "heat map: {} weights for {} rows and {} columns",
        map.weights.size(), map.rows.size(), map.columns.size());
  std::size_t margin = 0, widest = 1;
  for (const std::string& row : map.rows) margin = std::max(margin, width_of(row));
  for (const std::string& column : map.columns) widest = std::max(widest, width_of(column));
  const std::size_t step = widest + 1;

  std::string text = std::string(margin + 1, ' ');
  for (const std::string& column : map.columns) text += padded(column, step, true);
  text += '\n';
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    text += padded(map.rows[r], margin, true) + ' ';
    for (std::size_t c = 0; c < map.columns.size(); ++c)
      text += cell(static_cast<double>(map.weights[r * map.columns.size() + c]), step, terminal.color);
    text += '\n';
  }
  return text;
}

}  // namespace attend::view
