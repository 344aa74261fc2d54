#include "attend/view/trace_figure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/view/figure_title.h"
#include "attend/view/text_width.h"

namespace attend::view {

namespace {

constexpr double kTraceMargin = 18, kTraceLeft = 300, kTraceCells = 460, kTraceNumber = 70, kTraceRow = 17;
constexpr std::size_t kMostTraceRows = 24;
constexpr Color kTraceQuiet = {102, 102, 102}, kPositive = {230, 119, 20}, kMinus = {33, 113, 181},
                kHiddenCell = {190, 190, 190};

std::string row_name(const std::string& token) {
  const std::string text = printable(token);
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "·" : shortened(std::string_view(text).substr(begin), 10);
}

// The cells of one row, and its number where it has one.
void add_trace_row(Figure& figure, const TraceStep& step, std::size_t row, double y, float most) {
  const double width = kTraceCells / static_cast<double>(step.columns);
  for (std::size_t i = 0; i < step.columns; ++i) {
    const float value = step.values[row * step.columns + i];
    const bool hidden = !std::isfinite(value);
    const double share = hidden ? 0.4 : std::sqrt(static_cast<double>(std::fabs(value) / most));
    if (share > 0.02)
      figure.rects.push_back({kTraceLeft + width * static_cast<double>(i), y, width, kTraceRow - 3,
                              hidden      ? kHiddenCell
                              : value < 0 ? kMinus
                                          : kPositive,
                              std::min(1.0, share)});
  }
  if (step.columns > 1) return;
  const float value = step.values[row];
  figure.texts.push_back({.x = kTraceLeft + kTraceCells + kTraceNumber,
                          .y = y + 11,
                          .text = std::isfinite(value) ? fmt::format("{:.4f}", value) : "masked",
                          .size = 11,
                          .anchor = Figure::Anchor::end});
}

// Returns where the step ends below.
double add_trace_step(Figure& figure, const TraceStep& step, double y) {
  const std::size_t rows = step.rows.empty() ? 1 : step.rows.size(), shown = std::min(rows, kMostTraceRows);
  check(rows * step.columns == step.values.size() && step.columns > 0, "trace: step '{}' has {} values for {} x {}",
        step.name, step.values.size(), rows, step.columns);
  figure.texts.push_back({.x = kTraceMargin, .y = y + 12, .text = step.name, .bold = true});
  figure.texts.push_back({.x = kTraceMargin, .y = y + 28, .text = step.formula, .size = 12});
  figure.texts.push_back({.x = kTraceMargin,
                          .y = y + 43,
                          .text = fmt::format("{}:{}", step.file, step.line),
                          .size = 9,
                          .color = kTraceQuiet});
  float most = 1e-9f;
  for (const float value : step.values)
    if (std::isfinite(value)) most = std::max(most, std::fabs(value));
  for (std::size_t row = 0; row < shown; ++row) {
    const double at = y + kTraceRow * static_cast<double>(row);
    if (!step.rows.empty())
      figure.texts.push_back({.x = kTraceLeft - 8,
                              .y = at + 11,
                              .text = row_name(step.rows[row]),
                              .size = 11,
                              .anchor = Figure::Anchor::end});
    add_trace_row(figure, step, row, at, most);
  }
  double end = y + kTraceRow * static_cast<double>(shown);
  figure.rects.push_back(
      {.x = kTraceLeft, .y = y, .width = kTraceCells, .height = end - y - 3, .color = kHiddenCell, .outline = true});
  if (shown < rows) {
    figure.texts.push_back({.x = kTraceLeft,
                            .y = end + 11,
                            .text = fmt::format("{} more rows", rows - shown),
                            .size = 11,
                            .color = kTraceQuiet});
    end += kTraceRow;
  }
  return std::max(end, y + 48) + 14;
}

}  // namespace

Figure trace_figure(const Trace& trace, const std::string& title) {
  check(!trace.steps.empty() && trace.token < trace.queries.size(), "trace: there are no steps to draw");
  Figure figure{.width = kTraceLeft + kTraceCells + kTraceNumber + kTraceMargin};
  double y = add_title(figure, title, {.x = kTraceMargin, .width = figure.width - 2 * kTraceMargin});
  y = add_title(figure,
                fmt::format("“{}”, head {} of {}: blue is below zero, orange above; each step has its own scale",
                            row_name(trace.queries[trace.token]), trace.head + 1, trace.heads),
                {.x = kTraceMargin, .width = figure.width - 2 * kTraceMargin, .top = y, .size = 13}) +
      18;
  for (const TraceStep& step : trace.steps) y = add_trace_step(figure, step, y);
  figure.height = y;
  return figure;
}

}  // namespace attend::view
