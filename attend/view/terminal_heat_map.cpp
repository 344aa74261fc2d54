#include "attend/view/terminal_heat_map.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "attend/base/error.h"
#include "attend/view/text_width.h"

namespace attend::view {

namespace {

constexpr std::size_t kLongestName = 24;  // columns; the rest is cut

std::string padded(std::string_view text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, columns_of(text)), ' ');
  return right ? space + std::string(text) : std::string(text) + space;
}

struct TerminalColor {
  double red, green, blue;
};

// Seven stops from near black through purple and orange to pale yellow: brightness grows with weight, so the map
// reads in grey and to colour-blind eyes too.
TerminalColor terminal_color_of(double weight) {
  constexpr std::array<TerminalColor, 7> kStops = {
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
    const TerminalColor rgb = terminal_color_of(weight);
    return fmt::format("\x1b[48;2;{:.0f};{:.0f};{:.0f}m{}\x1b[0m", rgb.red, rgb.green, rgb.blue,
                       std::string(width, ' '));
  }
  constexpr std::array<std::string_view, 5> kShades = {" ", "░", "▒", "▓", "█"};
  const auto shade = static_cast<std::size_t>(std::clamp(weight, 0.0, 1.0) * (kShades.size() - 1) + 0.5);
  std::string text;
  for (std::size_t i = 0; i < width; ++i) text += kShades[shade];
  return text;
}

// Which columns are drawn, and how wide a cell is.
struct Part {
  std::size_t begin, end, cell;
  bool stairs;
};

struct Labels {
  std::vector<std::string> rows, columns;
  std::size_t margin = 0, widest = 1;

  explicit Labels(const HeatMap& map) {
    for (const std::string& row : map.rows) {
      rows.push_back(shortened(printable(row), kLongestName));
      margin = std::max(margin, columns_of(rows.back()));
    }
    for (const std::string& column : map.columns) {
      columns.push_back(shortened(printable(column), kLongestName));
      widest = std::max(widest, columns_of(columns.back()));
    }
  }
};

std::vector<Part> plan(const Labels& labels, std::size_t width) {
  const std::size_t count = labels.columns.size(), cell = labels.widest + 1;
  const std::size_t room = width > labels.margin + 1 ? width - labels.margin - 1 : 0;
  if (count * cell <= room) return {{0, count, cell, false}};
  // On stairs a label needs room to the right of its own column only.
  for (const std::size_t narrow : {std::size_t{3}, std::size_t{2}}) {
    std::size_t needed = count * narrow;
    for (std::size_t i = 0; i < count; ++i) needed = std::max(needed, i * narrow + columns_of(labels.columns[i]));
    if (needed <= room) return {{0, count, narrow, true}};
  }
  constexpr std::size_t kCell = 3;
  const std::size_t most = std::max<std::size_t>(4, room > labels.widest ? (room - labels.widest) / kCell : 0);
  std::vector<Part> parts;
  for (std::size_t begin = 0; begin < count; begin += most)
    parts.push_back({begin, std::min(count, begin + most), kCell, true});
  return parts;
}

std::string header(const Labels& labels, const Part& part) {
  const std::string margin(labels.margin + 1, ' ');
  if (!part.stairs) {
    std::string text = margin;
    for (std::size_t c = part.begin; c < part.end; ++c) text += padded(labels.columns[c], part.cell, true);
    return text + '\n';
  }
  std::string text;
  for (std::size_t c = part.begin; c < part.end; ++c) {
    text += margin;
    for (std::size_t before = part.begin; before < c; ++before) text += padded("│", part.cell, false);
    text += labels.columns[c] + '\n';
  }
  return text;
}

std::string legend(const Labels& labels, const Terminal& terminal) {
  std::string text = std::string(labels.margin + 1, ' ') + "0 ";
  for (int i = 0; i <= 8; ++i) text += cell(i / 8.0, 2, terminal.color);
  return text + " 1\n";
}

}  // namespace

std::string draw(const HeatMap& map, const Terminal& terminal) {
  check(map.weights.size() == map.rows.size() * map.columns.size(), "heat map: {} weights for {} rows and {} columns",
        map.weights.size(), map.rows.size(), map.columns.size());
  const Labels labels(map);
  std::string text;
  for (const Part& part : plan(labels, static_cast<std::size_t>(std::max(terminal.width, 20)))) {
    if (part.begin > 0) text += '\n';
    text += header(labels, part);
    for (std::size_t r = 0; r < labels.rows.size(); ++r) {
      text += padded(labels.rows[r], labels.margin, true) + ' ';
      for (std::size_t c = part.begin; c < part.end; ++c)
        text += cell(static_cast<double>(map.weights[r * labels.columns.size() + c]), part.cell, terminal.color);
      text += '\n';
    }
  }
  return text + legend(labels, terminal);
}

}  // namespace attend::view
