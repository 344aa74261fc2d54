#include "attend/view/attention_svg.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "attend/base/unicode/unicode.h"
#include "attend/view/text_width.h"

namespace attend::view {

namespace {

constexpr double kFont = 14, kTitleFont = 16, kMargin = 16, kGap = 8;
constexpr double kLegendWidth = 14, kLegendRoom = 64;  // the bar, and the bar with its numbers
constexpr double kLeast = 420;                         // a figure is never narrower: titles need room
constexpr double kSlant = 0.70710678;                  // labels on top stand at 45 degrees
constexpr std::size_t kLongestLabel = 28;              // columns

struct Rgb {
  double red, green, blue;
};

// Five stops whose brightness falls in even steps.
Rgb color_of(double weight) {
  constexpr std::array<Rgb, 5> kStops = {
      {{250, 250, 248}, {196, 216, 233}, {120, 167, 208}, {46, 106, 165}, {10, 40, 88}}};
  const double at = std::clamp(std::isfinite(weight) ? weight : 0.0, 0.0, 1.0) * (kStops.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(at), kStops.size() - 2);
  const double t = at - static_cast<double>(i);
  const auto mix = [t](double a, double b) { return std::round(a + (b - a) * t); };
  return {mix(kStops[i].red, kStops[i + 1].red), mix(kStops[i].green, kStops[i + 1].green),
          mix(kStops[i].blue, kStops[i + 1].blue)};
}

std::string hex(const Rgb& color) {
  return fmt::format("#{:02x}{:02x}{:02x}", static_cast<int>(color.red), static_cast<int>(color.green),
                     static_cast<int>(color.blue));
}

// A guess from above: a column of a sans-serif font is at most about this much of its size.
double width_of(std::string_view text, double font) { return 0.64 * font * static_cast<double>(columns_of(text)); }

// Lines of at most `room` pixels, cut at spaces; a word longer than a line, or a script without spaces, is cut
// anywhere.
std::vector<std::string> wrapped(std::string_view text, double room, double font) {
  std::vector<std::string> lines;
  const auto most = static_cast<std::size_t>(std::max(4.0, room / (0.64 * font)));
  std::string line;
  std::size_t columns = 0, last_space = std::string::npos;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = std::min(utf8_length(text[at]), text.size() - at);
    const std::string_view character = text.substr(at, bytes);
    at += bytes;
    if (columns + columns_of(character) > most) {
      const bool cut = last_space != std::string::npos;
      lines.push_back(line.substr(0, cut ? last_space : line.size()));
      line = cut ? line.substr(last_space + 1) : std::string();
      columns = columns_of(line), last_space = std::string::npos;
    }
    if (character == " ") last_space = line.size();
    line += character;
    columns += columns_of(character);
  }
  if (!line.empty() || lines.empty()) lines.push_back(line);
  return lines;
}

// Where everything stands.
struct Layout {
  double cell, left, top, width, height;
  std::vector<std::string> title;  // lines, those of the source first
  std::size_t source_lines = 0;
  std::vector<std::string> rows, columns;

  Layout(const AttentionMap& map, const SvgOptions& options) : cell(options.cell) {
    const auto labels = [](const std::vector<std::string>& words) {
      std::vector<std::string> result;
      for (const std::string& word : words) result.push_back(shortened(printable(word), kLongestLabel));
      return result;
    };
    rows = labels(map.target), columns = labels(map.source);
    double label_width = 0, label_height = 0, overhang = 0;
    for (const std::string& row : rows) label_width = std::max(label_width, width_of(row, kFont));
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const double slanted = width_of(columns[i], kFont) * kSlant;
      label_height = std::max(label_height, slanted);
      overhang = std::max(overhang, slanted - static_cast<double>(columns.size() - 1 - i) * cell);
    }
    left = kMargin + label_width + kGap;
    const double matrix = cell * static_cast<double>(columns.size());
    width = std::max(kLeast, left + matrix + std::max(kLegendRoom, overhang - cell / 2) + 2 * kMargin);
    if (!options.source.empty()) title = wrapped(printable(options.source), width - 2 * kMargin, kTitleFont);
    source_lines = title.size();
    if (!options.target.empty())
      for (std::string& line : wrapped(printable(options.target), width - 2 * kMargin, kTitleFont))
        title.push_back(std::move(line));
    const double titles = title.empty() ? 0 : 1.35 * kTitleFont * static_cast<double>(title.size()) + kGap;
    top = kMargin + titles + label_height + kFont + kGap;
    height = top + std::max(cell * static_cast<double>(rows.size()), 3 * cell) + kMargin + kGap;
  }
};

using Out = std::back_insert_iterator<std::string>;

void draw_title(Out out, const Layout& layout) {
  for (std::size_t i = 0; i < layout.title.size(); ++i)
    fmt::format_to(out, "<text x=\"{}\" y=\"{:.1f}\" font-size=\"{}\"{}>{}</text>\n", kMargin,
                   kMargin + kTitleFont + 1.35 * kTitleFont * static_cast<double>(i), kTitleFont,
                   i < layout.source_lines ? " font-weight=\"bold\"" : "", xml_escaped(layout.title[i]));
}

void draw_labels(Out out, const Layout& layout) {
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    const double x = layout.left + (static_cast<double>(i) + 0.5) * layout.cell + kFont * 0.25, y = layout.top - kGap;
    fmt::format_to(out, "<text x=\"{0:.1f}\" y=\"{1:.1f}\" transform=\"rotate(-45 {0:.1f} {1:.1f})\">{2}</text>\n", x,
                   y, xml_escaped(layout.columns[i]));
  }
  for (std::size_t i = 0; i < layout.rows.size(); ++i)
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", layout.left - kGap,
                   layout.top + (static_cast<double>(i) + 0.5) * layout.cell + kFont * 0.35,
                   xml_escaped(layout.rows[i]));
}

void draw_cells(Out out, const Layout& layout, const AttentionMap& map) {
  for (std::size_t r = 0; r < layout.rows.size(); ++r)
    for (std::size_t c = 0; c < layout.columns.size(); ++c) {
      const auto weight = static_cast<double>(map.weights[r * layout.columns.size() + c]);
      fmt::format_to(out,
                     "<rect x=\"{0:.1f}\" y=\"{1:.1f}\" width=\"{3}\" height=\"{3}\" fill=\"{2}\"><title>{4} → {5}: "
                     "{6:.3f}</title></rect>\n",
                     layout.left + static_cast<double>(c) * layout.cell,
                     layout.top + static_cast<double>(r) * layout.cell, hex(color_of(weight)), layout.cell,
                     xml_escaped(layout.rows[r]), xml_escaped(layout.columns[c]), weight);
    }
  fmt::format_to(out,
                 "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#888\"/>\n",
                 layout.left, layout.top, layout.cell * static_cast<double>(layout.columns.size()),
                 layout.cell * static_cast<double>(layout.rows.size()));
}

// A bar from 0 (below) to 1, right of the cells.
void draw_legend(Out out, const Layout& layout) {
  const double x = layout.left + layout.cell * static_cast<double>(layout.columns.size()) + kMargin;
  const double height =
      std::clamp(layout.cell * static_cast<double>(layout.rows.size()), 3 * layout.cell, 6 * layout.cell);
  constexpr int kSteps = 32;
  for (int i = 0; i < kSteps; ++i)
    fmt::format_to(out, "<rect x=\"{:.1f}\" y=\"{:.2f}\" width=\"{}\" height=\"{:.2f}\" fill=\"{}\"/>\n", x,
                   layout.top + height * i / kSteps, kLegendWidth, height / kSteps + 0.5,
                   hex(color_of(1 - (i + 0.5) / kSteps)));
  fmt::format_to(out,
                 "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#888\"/>\n", x,
                 layout.top, kLegendWidth, height);
  for (const double value : {0.0, 0.5, 1.0})
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"11\">{:.1f}</text>\n", x + kLegendWidth + 5,
                   layout.top + height * (1 - value) + 4, value);
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  return result;
}

std::string attention_svg(const AttentionMap& map, const SvgOptions& options) {
  check_map(map);
  const Layout layout(map, options);
  std::string text;
  const Out out = std::back_inserter(text);
  fmt::format_to(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
                 "{1:.0f}\" font-family=\"Helvetica, Arial, 'DejaVu Sans', 'Noto Sans CJK SC', sans-serif\" "
                 "font-size=\"{2}\" fill=\"#222\">\n",
                 layout.width, layout.height, kFont);
  if (!options.source.empty() || !options.target.empty())
    fmt::format_to(out, "<title>{} → {}</title>\n", xml_escaped(options.source), xml_escaped(options.target));
  fmt::format_to(out, "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
  draw_title(out, layout);
  draw_labels(out, layout);
  text += "<g shape-rendering=\"crispEdges\">\n";  // no seams between neighbours of one colour
  draw_cells(out, layout, map);
  text += "</g>\n";
  draw_legend(out, layout);
  text += "</svg>\n";
  return text;
}

}  // namespace attend::view
