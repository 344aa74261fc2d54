#include "attend/view/heads_figure.h"

#include <fmt/core.h>

#include <algorithm>

#include "attend/base/error.h"
#include "attend/view/figure_title.h"
#include "attend/view/stroke_font.h"
#include "attend/view/text_width.h"

namespace attend::view {

namespace {

constexpr double kSide = 118, kMapGap = 14, kLabel = 152, kPageMargin = 18, kCell = 26;
constexpr std::size_t kLongestWord = 16;  // columns
constexpr Color kQuiet = {102, 102, 102}, kLine = {153, 153, 153};

std::string plain(const std::string& word) {
  const std::string text = printable(word);
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "·" : shortened(std::string_view(text).substr(begin), kLongestWord);
}

// One head, its corner at x, y.
void add_map(Figure& figure, const HeadsRow& row, std::size_t head, double x, double y) {
  const double width = kSide / static_cast<double>(std::max<std::size_t>(row.columns, 1));
  const double height = kSide / static_cast<double>(std::max<std::size_t>(row.rows, 1));
  figure.rects.push_back({.x = x, .y = y, .width = kSide, .height = kSide, .weight = 0});
  for (std::size_t r = 0; r < row.rows; ++r)
    for (std::size_t c = 0; c < row.columns; ++c)
      if (const float weight = row.weights[(head * row.rows + r) * row.columns + c]; weight >= 0.005f)
        figure.rects.push_back({.x = x + static_cast<double>(c) * width,
                                .y = y + static_cast<double>(r) * height,
                                .width = width,
                                .height = height,
                                .weight = std::min(1.0, static_cast<double>(weight))});
  figure.rects.push_back({.x = x, .y = y, .width = kSide, .height = kSide, .color = kLine, .outline = true});
  if (head < row.roles.size())
    figure.texts.push_back({.x = x + kSide / 2,
                            .y = y + kSide + 13,
                            .text = row.roles[head],
                            .size = 11,
                            .anchor = Figure::Anchor::middle,
                            .color = kQuiet});
}

// The large one with its words; returns where it ends below.
double add_main(Figure& figure, const HeadsRow& row, const HeadsOptions& options, double y) {
  double left = 60, top = 60;
  for (const std::string& word : options.words) left = std::max(left, room_of(plain(word), Figure::Text().size));
  for (const std::string& word : options.onto)
    top = std::max(top, 0.75 * room_of(plain(word), Figure::Text().size));  // it slants
  left += kPageMargin + 8, y += top;
  for (std::size_t c = 0; c < row.columns; ++c)
    figure.texts.push_back(
        {.x = left + (static_cast<double>(c) + 0.6) * kCell, .y = y - 6, .text = plain(options.onto[c]), .angle = -45});
  const double wide = static_cast<double>(row.columns) * kCell, high = static_cast<double>(row.rows) * kCell;
  figure.rects.push_back({.x = left, .y = y, .width = wide, .height = high, .weight = 0});
  for (std::size_t r = 0; r < row.rows; ++r) {
    const double line = y + static_cast<double>(r) * kCell;
    figure.texts.push_back(
        {.x = left - 8, .y = line + kCell / 2 + 4, .text = plain(options.words[r]), .anchor = Figure::Anchor::end});
    for (std::size_t c = 0; c < row.columns; ++c) {
      double weight = 0;
      for (std::size_t h = 0; h < row.heads; ++h)
        weight += static_cast<double>(row.weights[(h * row.rows + r) * row.columns + c]);
      weight /= static_cast<double>(row.heads);
      if (weight >= 0.005)
        figure.rects.push_back({.x = left + static_cast<double>(c) * kCell,
                                .y = line,
                                .width = kCell,
                                .height = kCell,
                                .weight = std::min(1.0, weight)});
    }
  }
  figure.rects.push_back({.x = left, .y = y, .width = wide, .height = high, .color = kLine, .outline = true});
  figure.width = std::max(figure.width, left + wide + top + kPageMargin);
  return add_legend(figure, left, y + high + 10);
}

}  // namespace

Figure heads_figure(std::span<const HeadsRow> rows, const HeadsOptions& options) {
  std::size_t heads = 0;
  for (const HeadsRow& row : rows) {
    heads = std::max(heads, row.heads);
    check(row.weights.size() == row.heads * row.rows * row.columns, "heads: '{}' has {} weights for {} x {} x {}",
          row.label, row.weights.size(), row.heads, row.rows, row.columns);
  }
  Figure figure;
  figure.width = kLabel + static_cast<double>(heads) * (kSide + kMapGap) + kPageMargin;
  double y = 28 + add_title(figure, options.title, {.x = kPageMargin, .width = figure.width - 2 * kPageMargin});
  if (!options.words.empty()) {
    check(options.main < rows.size() && rows[options.main].rows == options.words.size() &&
              rows[options.main].columns == options.onto.size(),
          "heads: {} words look at {}, which does not fit", options.words.size(), options.onto.size());
    const HeadsRow& main = rows[options.main];
    const std::string label = main.heads > 1 ? main.label + ", all heads averaged" : main.label;
    figure.texts.push_back({.x = kPageMargin, .y = y, .text = label, .color = kQuiet});
    figure.width = std::max(figure.width, 2 * kPageMargin + room_of(label, Figure::Text().size));
    y = add_main(figure, main, options, y + 6) + 44;
  } else {
    y += 20;
  }
  if (heads > 1 || options.words.empty()) {
    for (std::size_t h = 0; h < heads; ++h)
      figure.texts.push_back({.x = kLabel + static_cast<double>(h) * (kSide + kMapGap) + kSide / 2,
                              .y = y - 8,
                              .text = fmt::format("head {}", h + 1),
                              .anchor = Figure::Anchor::middle,
                              .color = kQuiet});
    for (const HeadsRow& row : rows) {
      figure.texts.push_back({.x = kPageMargin, .y = y + kSide / 2, .text = row.label});
      for (std::size_t h = 0; h < row.heads; ++h)
        add_map(figure, row, h, kLabel + static_cast<double>(h) * (kSide + kMapGap), y);
      y += kSide + kMapGap + (row.roles.empty() ? 0 : 10);
    }
  }
  if (options.words.empty()) y = add_legend(figure, kLabel, y);
  figure.height = y + kPageMargin - (options.words.empty() ? 0 : kMapGap);
  return figure;
}

}  // namespace attend::view
