#include "attend/view/words_figure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/view/figure_title.h"
#include "attend/view/text_width.h"

namespace attend::view {

namespace {

constexpr double kWordsMargin = 18, kWordStep = 30, kWordSize = 15, kGap = 230, kHeadSquare = 9;
constexpr double kWeakest = 0.03;
constexpr std::size_t kLongestColumnWord = 18, kMostBars = 5;
constexpr Color kCurve = {31, 111, 178}, kWordsQuiet = {102, 102, 102}, kAbove = {230, 119, 20},
                kBelow = {33, 113, 181};

std::string shown_word(const std::string& word) {
  const std::string text = printable(word);
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "·" : shortened(std::string_view(text).substr(begin), kLongestColumnWord);
}

double widest(const std::vector<std::string>& words) {
  double width = 50;
  for (const std::string& word : words) width = std::max(width, room_of(shown_word(word), kWordSize));
  return width;
}

// From one side to the other with level ends, as the page draws it.
std::vector<std::pair<double, double>> bent(double x1, double y1, double x2, double y2) {
  constexpr int kPieces = 24;
  std::vector<std::pair<double, double>> points;
  for (int i = 0; i <= kPieces; ++i) {
    const double t = static_cast<double>(i) / kPieces, u = 1 - t, bend = 0.42 * (x2 - x1);
    points.emplace_back(u * u * u * x1 + 3 * u * u * t * (x1 + bend) + 3 * u * t * t * (x2 - bend) + t * t * t * x2,
                        u * u * u * y1 + 3 * u * u * t * y1 + 3 * u * t * t * y2 + t * t * t * y2);
  }
  return points;
}

void add_column(Figure& figure, const std::vector<std::string>& words, double x, double y, Figure::Anchor anchor) {
  for (std::size_t i = 0; i < words.size(); ++i)
    figure.texts.push_back({.x = x,
                            .y = y + kWordStep * static_cast<double>(i) + 5,
                            .text = shown_word(words[i]),
                            .size = kWordSize,
                            .anchor = anchor});
}

// Where the columns of a figure stand.
struct Columns {
  double left = 0, right = 0, y = 0;  // y: the middle of the first line
  std::size_t most = 0;
  double top(std::size_t count) const { return y + kWordStep * static_cast<double>(most - count) / 2; }
};

Figure::Series series_of(const WordsFigure& from, std::size_t head) {
  if (from.heads == 1) return {};
  return {static_cast<int>(head), static_cast<int>(from.heads)};
}

bool drawn(const WordsFigure& from, std::size_t row) {
  return from.word < 0 || static_cast<std::size_t>(from.word) == row;
}

void add_word_curves(Figure& figure, const WordsFigure& from, const Columns& columns) {
  const std::size_t rows = from.words.size(), onto = from.onto.size();
  for (std::size_t i = 0; i < from.weights.size(); ++i) {
    const std::size_t head = i / (rows * onto), row = i / onto % rows, column = i % onto;
    const auto weight = static_cast<double>(from.weights[i]);
    if (weight < kWeakest || !drawn(from, row)) continue;
    figure.curves.push_back(
        {.points = bent(columns.left + 8, columns.top(onto) + kWordStep * static_cast<double>(column),
                        columns.right - 8, columns.top(rows) + kWordStep * static_cast<double>(row)),
         .width = 0.8 + 4.2 * std::min(1.0, weight),
         .color = kCurve,
         .opacity = (0.08 + 0.87 * std::min(1.0, weight)) * (from.heads > 1 ? 0.85 : 1),
         .series = series_of(from, head)});
  }
  std::ranges::stable_sort(figure.curves, {}, &Figure::Curve::opacity);
}

// A square for each head, left of each word that was read.
void add_head_squares(Figure& figure, const WordsFigure& from, const Columns& columns) {
  const std::size_t rows = from.words.size(), onto = from.onto.size();
  for (std::size_t column = 0; column < onto; ++column)
    for (std::size_t head = 0; head < from.heads; ++head) {
      double sum = 0, count = 0;
      for (std::size_t row = 0; row < rows; ++row)
        if (drawn(from, row)) sum += static_cast<double>(from.weights[(head * rows + row) * onto + column]), ++count;
      if (sum / count < 0.01) continue;
      figure.rects.push_back({.x = kWordsMargin + kHeadSquare * static_cast<double>(head),
                              .y = columns.top(onto) + kWordStep * static_cast<double>(column) - 9,
                              .width = kHeadSquare,
                              .height = 18,
                              .opacity = std::min(1.0, 0.1 + 0.9 * sum / count),
                              .series = series_of(from, head)});
    }
}

// What the thickness of a curve means, and which colour is which head.
double add_words_legend(Figure& figure, const WordsFigure& from, double y) {
  for (const double weight : {0.1, 0.5, 1.0}) {
    const double x = kWordsMargin + (weight < 0.3 ? 0 : weight < 0.8 ? 80 : 160);
    figure.curves.push_back({.points = {{x, y}, {x + 26, y}},
                             .width = 0.8 + 4.2 * weight,
                             .color = from.heads > 1 ? kWordsQuiet : kCurve,
                             .opacity = 0.08 + 0.87 * weight});
    figure.texts.push_back(
        {.x = x + 32, .y = y + 4, .text = fmt::format("{:.1f}", weight), .size = 11, .color = kWordsQuiet});
  }
  figure.texts.push_back(
      {.x = kWordsMargin + 225, .y = y + 4, .text = "attention weight", .size = 11, .color = kWordsQuiet});
  if (from.heads == 1) return y;
  constexpr std::size_t kAcross = 8;
  for (std::size_t head = 0; head < from.heads; ++head) {
    const double x = kWordsMargin + 46 * static_cast<double>(head % kAcross);
    if (head % kAcross == 0) y += 24;
    figure.rects.push_back({.x = x, .y = y - 9, .width = 14, .height = 14, .series = series_of(from, head)});
    figure.texts.push_back(
        {.x = x + 19, .y = y + 3, .text = fmt::format("{}", head + 1), .size = 12, .color = kWordsQuiet});
    figure.width = std::max(figure.width, x + 46 + kWordsMargin);
  }
  return y;
}

}  // namespace

Figure words_figure(const WordsFigure& from) {
  check(
      !from.words.empty() && from.heads > 0 && from.weights.size() == from.heads * from.words.size() * from.onto.size(),
      "words: {} weights for {} x {} x {}", from.weights.size(), from.heads, from.words.size(), from.onto.size());
  check(from.word < static_cast<std::ptrdiff_t>(from.words.size()), "words: there is no word {} of {}", from.word + 1,
        from.words.size());
  Columns columns{.most = std::max(from.words.size(), from.onto.size())};
  const double squares = from.heads > 1 ? kHeadSquare * static_cast<double>(from.heads) + 8 : 0;
  columns.left = kWordsMargin + squares + widest(from.onto), columns.right = columns.left + kGap;
  Figure figure{.width = columns.right + widest(from.words) + kWordsMargin};
  figure.width = std::max(figure.width, 420.0);
  double y = add_title(figure, from.title, {.x = kWordsMargin, .width = figure.width - 2 * kWordsMargin});
  if (!from.note.empty())
    y = add_title(figure, from.note,
                  {.x = kWordsMargin, .width = figure.width - 2 * kWordsMargin, .top = y, .size = 13});
  y += 26;
  figure.texts.push_back(
      {.x = columns.left, .y = y, .text = from.onto_name, .anchor = Figure::Anchor::end, .color = kWordsQuiet});
  figure.texts.push_back({.x = columns.right, .y = y, .text = from.words_name, .color = kWordsQuiet});
  columns.y = y + 24;
  add_column(figure, from.onto, columns.left, columns.top(from.onto.size()), Figure::Anchor::end);
  const std::size_t first = figure.texts.size();
  add_column(figure, from.words, columns.right, columns.top(from.words.size()), Figure::Anchor::start);
  if (from.word >= 0) figure.texts[first + static_cast<std::size_t>(from.word)].bold = true;
  add_word_curves(figure, from, columns);
  if (from.heads > 1) add_head_squares(figure, from, columns);
  y = columns.y + kWordStep * static_cast<double>(columns.most);
  figure.height = add_words_legend(figure, from, y) + kWordsMargin;
  return figure;
}

Figure steps_figure(const std::string& title, std::span<const StepBars> steps) {
  check(!steps.empty(), "generate: there are no steps to draw");
  constexpr double kColumn = 190, kRow = 22, kFull = 60;
  const std::size_t across = std::min<std::size_t>(steps.size(), 5);
  Figure figure{.width = 2 * kWordsMargin + kColumn * static_cast<double>(across)};
  double y = add_title(figure, title, {.x = kWordsMargin, .width = figure.width - 2 * kWordsMargin}) + 30;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double x = kWordsMargin + kColumn * static_cast<double>(i % across);
    if (i && i % across == 0) y += kRow * (kMostBars + 2);
    figure.texts.push_back(
        {.x = x, .y = y, .text = fmt::format("{}. {}", i + 1, shown_word(steps[i].chosen)), .size = 14, .bold = true});
    for (std::size_t k = 0; k < std::min(kMostBars, steps[i].candidates.size()); ++k) {
      const auto& [word, probability] = steps[i].candidates[k];
      const double line = y + kRow * static_cast<double>(k + 1);
      figure.texts.push_back({.x = x, .y = line, .text = shortened(shown_word(word), 9), .size = 12});
      figure.rects.push_back({x + 66, line - 9, std::max(1.0, kFull * static_cast<double>(probability)), 9, kCurve});
      figure.texts.push_back({.x = x + 160,
                              .y = line,
                              .text = fmt::format("{:.2f}", probability),
                              .size = 11,
                              .anchor = Figure::Anchor::end,
                              .color = kWordsQuiet});
    }
  }
  figure.height = y + kRow * (kMostBars + 1);
  return figure;
}

Figure vectors_figure(const std::string& title, std::span<const float> values, std::size_t width) {
  check(width > 0 && !values.empty() && values.size() % width == 0, "positions: there are no vectors to draw");
  const std::size_t rows = values.size() / width;
  float most = 1e-9f;
  for (const float value : values) most = std::max(most, std::fabs(value));
  image::Image image(static_cast<int>(width), static_cast<int>(rows));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double share = std::sqrt(static_cast<double>(std::fabs(values[i]) / most));
    const Color& end = values[i] < 0 ? kBelow : kAbove;
    const std::uint8_t color[] = {end.red, end.green, end.blue};
    for (std::size_t c = 0; c < 3; ++c)
      image.pixels[3 * i + c] = static_cast<std::uint8_t>(std::lround(250 + (color[c] - 250) * share));
  }
  constexpr double kWide = 640;
  Figure figure{.width = kWide + 2 * kWordsMargin + 40};
  const double y = add_title(figure, title, {.x = kWordsMargin, .width = kWide}) + 24;
  const double step = std::clamp(420.0 / static_cast<double>(rows), 6.0, 20.0);
  const double high = step * static_cast<double>(rows), x = kWordsMargin + 40;
  figure.texts.push_back({.x = x, .y = y - 6, .text = fmt::format("{} dimensions", width), .color = kWordsQuiet});
  for (const std::size_t row : {std::size_t{0}, rows - 1})
    figure.texts.push_back({.x = x - 8,
                            .y = y + step * (static_cast<double>(row) + 0.5) + 4,
                            .text = fmt::format("{}", row),
                            .anchor = Figure::Anchor::end,
                            .color = kWordsQuiet});
  figure.pixels.push_back({x, y, kWide, high, image});
  double at = x;
  for (const auto& [color, text] : {std::pair{kBelow, "below 0"}, std::pair{kAbove, "above 0"}}) {
    figure.rects.push_back({at, y + high + 12, 12, 12, color});
    figure.texts.push_back({.x = at + 18, .y = y + high + 22, .text = text, .size = 12, .color = kWordsQuiet});
    at += 90;
  }
  figure.height = y + high + 38;
  return figure;
}

}  // namespace attend::view
