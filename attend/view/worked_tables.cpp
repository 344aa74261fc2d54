// The steps of worked_attention.h as text and as a figure.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "attend/view/figure_title.h"
#include "attend/view/text_width.h"
#include "attend/view/worked_attention.h"

namespace attend::view {

namespace {

constexpr std::size_t kTableRows = 24, kTableColumns = 16, kLongestLabelName = 16;
constexpr Color kStrong = {46, 106, 165}, kNegative = {196, 98, 45}, kFrame = {153, 153, 153}, kGrey = {102, 102, 102},
                kWhite = {255, 255, 255};

// Whole numbers are written as such where the table has no others.
int digits_of(const NamedMatrix& matrix, int digits) {
  const bool whole = std::all_of(matrix.values.begin(), matrix.values.end(),
                                 [](double value) { return std::abs(value) < 1e6 && value == std::round(value); });
  return whole ? 0 : digits;
}

std::string number_text(double value, int digits) {
  const std::string text = std::abs(value) < 1e9 ? fmt::format("{:.{}f}", value, digits) : fmt::format("{:.3g}", value);
  const bool zero = text.find_first_not_of("-0.") == std::string::npos;
  return zero && text[0] == '-' ? text.substr(1) : text;
}

std::string name_text(const std::vector<std::string>& names, std::size_t i) {
  return i < names.size() ? shortened(printable(names[i]), kLongestLabelName) : "";
}

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t columns = columns_of(text);
  return std::string(columns < width ? width - columns : 0, ' ') + text;
}

std::string table(const WorkedAttention& worked, const WorkedStep& step, int digits) {
  const NamedMatrix& matrix = *step.matrix;
  const int shown = digits_of(matrix, digits);
  const std::size_t rows = std::min(matrix.rows, kTableRows), columns = std::min(matrix.columns, kTableColumns);
  const auto cell = [&](std::size_t i, std::size_t j) {
    return step.hides && !worked.visible(i, j) ? std::string("–") : number_text(matrix.at(i, j), shown);
  };
  std::size_t left = 0, width = 4;
  for (std::size_t i = 0; i < rows; ++i) {
    left = std::max(left, columns_of(name_text(matrix.row_names, i)));
    for (std::size_t j = 0; j < columns; ++j) width = std::max(width, columns_of(cell(i, j)));
  }
  for (std::size_t j = 0; j < columns; ++j) width = std::max(width, columns_of(name_text(matrix.column_names, j)));
  std::string text;
  if (!matrix.column_names.empty()) {
    text += std::string(left + 2, ' ');
    for (std::size_t j = 0; j < columns; ++j) text += "  " + padded(name_text(matrix.column_names, j), width);
    text += '\n';
  }
  for (std::size_t i = 0; i < rows; ++i) {
    text += "  " + padded(name_text(matrix.row_names, i), left);
    for (std::size_t j = 0; j < columns; ++j) text += "  " + padded(cell(i, j), width);
    text += '\n';
  }
  if (rows < matrix.rows || columns < matrix.columns)
    text += fmt::format("  (the first {} x {} of {}; --json prints all)\n", rows, columns, matrix.shape());
  return text;
}

// The largest weight of each row decides its colour: a row of scores is compared with itself, as the softmax does.
double strength(const NamedMatrix& matrix, std::size_t i, std::size_t j) {
  double largest = 0;
  for (std::size_t c = 0; c < matrix.columns; ++c) largest = std::max(largest, std::abs(matrix.at(i, c)));
  return largest > 0 ? std::abs(matrix.at(i, j)) / largest : 0;
}

struct Grid {
  double x = 0, y = 0, cell = 0, label = 0;
};

// One step, its corner at (x, y); returns how far it reaches to the right.
double add_grid(Figure& figure, const WorkedAttention& worked, const WorkedStep& step, const Grid& grid, int digits) {
  const NamedMatrix& matrix = *step.matrix;
  const int shown = digits_of(matrix, digits);
  const std::size_t rows = std::min(matrix.rows, kTableRows), columns = std::min(matrix.columns, kTableColumns);
  const double left = grid.x + grid.label, height = 28;
  figure.texts.push_back({.x = grid.x, .y = grid.y - 74, .text = step.formula, .size = 14, .bold = true});
  for (std::size_t j = 0; j < columns; ++j)
    figure.texts.push_back({.x = left + (static_cast<double>(j) + 0.5) * grid.cell,
                            .y = grid.y - 6,
                            .text = name_text(matrix.column_names, j),
                            .size = 12,
                            .color = kGrey,
                            .angle = -35});
  for (std::size_t i = 0; i < rows; ++i) {
    const double y = grid.y + static_cast<double>(i) * height;
    figure.texts.push_back({.x = left - 8,
                            .y = y + 18,
                            .text = name_text(matrix.row_names, i),
                            .size = 12,
                            .anchor = Figure::Anchor::end});
    for (std::size_t j = 0; j < columns; ++j) {
      const bool hidden = step.hides && !worked.visible(i, j);
      const double value = matrix.at(i, j), share = hidden ? 0 : strength(matrix, i, j),
                   x = left + static_cast<double>(j) * grid.cell;
      if (share > 0.004)
        figure.rects.push_back({x, y, grid.cell, height, value < 0 ? kNegative : kStrong, 0.9 * share});
      figure.texts.push_back({.x = x + grid.cell / 2,
                              .y = y + 18,
                              .text = hidden ? "–" : number_text(value, shown),
                              .size = 12,
                              .anchor = Figure::Anchor::middle,
                              .color = share > 0.6 ? kWhite : Color{34, 34, 34}});
    }
  }
  const double width = grid.cell * static_cast<double>(columns);
  figure.rects.push_back({.x = left,
                          .y = grid.y,
                          .width = width,
                          .height = height * static_cast<double>(rows),
                          .color = kFrame,
                          .outline = true});
  figure.height = std::max(figure.height, grid.y + height * static_cast<double>(rows) + 24);
  return std::max(left + width, grid.x + room_of(step.formula, 14));
}

std::string score_formula(const WorkedAttention& worked) {
  const bool weighted = worked.w.rows > 0;
  switch (worked.settings.score) {
    case Score::dot:
      return "scores = Q Kᵀ";
    case Score::additive:
      return weighted ? "scores = w · tanh(q + k)" : "scores = sum of tanh(q + k)";
    case Score::general:
      return weighted ? "scores = Q W Kᵀ" : "scores = Q Kᵀ (W = 1)";
    case Score::cosine:
      return "scores = q · k / (|q| |k|)";
  }
  return "scores";
}

std::string shapes_text(const WorkedAttention& worked) {
  return fmt::format("{} {}, {} {}: Q {}, K {}, V {}", worked.q.rows, worked.q.rows == 1 ? "query" : "queries",
                     worked.k.rows, worked.k.rows == 1 ? "key" : "keys", worked.q.shape(), worked.k.shape(),
                     worked.v.shape());
}

}  // namespace

std::vector<WorkedStep> steps_of(const WorkedAttention& worked) {
  std::vector<WorkedStep> steps = {{score_formula(worked), &worked.scores}};
  const bool scaled = worked.settings.scaled, causal = worked.settings.causal;
  if (scaled || causal) {
    std::string formula =
        scaled ? fmt::format("scaled = scores / √{} = scores / {:.4g}", worked.k.columns, worked.divisor) : "scores";
    if (causal) formula += ", causal mask";
    steps.push_back({std::move(formula), &worked.scaled, causal});
  }
  steps.push_back({"weights = softmax of each row", &worked.weights, causal});
  steps.push_back({"output = weights · V", &worked.output});
  return steps;
}

std::string worked_tables(const WorkedAttention& worked, int digits) {
  std::string text = shapes_text(worked) + '\n';
  int number = 0;
  for (const WorkedStep& step : steps_of(worked))
    text += fmt::format("\n{}. {}\n{}", ++number, step.formula, table(worked, step, digits));
  return text;
}

Figure worked_figure(const WorkedAttention& worked, int digits) {
  Figure figure{.width = 600};
  const double top = add_title(figure, shapes_text(worked), {});
  double x = 18;
  for (const WorkedStep& step : steps_of(worked)) {
    std::size_t name = 2, number = 3;
    const int shown = digits_of(*step.matrix, digits);
    for (std::size_t i = 0; i < std::min(step.matrix->rows, kTableRows); ++i)
      name = std::max(name, columns_of(name_text(step.matrix->row_names, i)));
    for (const double value : step.matrix->values) number = std::max(number, number_text(value, shown).size());
    const Grid grid{.x = x,
                    .y = top + 110,
                    .cell = std::max(44.0, 8.0 * static_cast<double>(number)),
                    .label = 8.0 * static_cast<double>(name) + 10};
    x = add_grid(figure, worked, step, grid, digits) + 56;
  }
  figure.width = std::max(figure.width, x);
  return figure;
}

}  // namespace attend::view
