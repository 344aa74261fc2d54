#include "attend/view/line_plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attend/base/error.h"

namespace attend::view {

namespace {

constexpr double kWidth = 600, kHeight = 250, kLeft = 62, kRight = 190, kTop = 34, kBottom = 48;
constexpr Color kAxis = {120, 120, 120}, kGrid = {226, 226, 226}, kInk = {34, 34, 34};
// Distinct in hue and in lightness, so that they differ in grey, too.
constexpr std::array<Color, 5> kColors = {
    {{31, 111, 178}, {214, 96, 20}, {20, 130, 80}, {140, 60, 150}, {110, 110, 110}}};

// Steps of 1, 2 or 5 times a power of ten, about five of them.
double tick_step(double span) {
  const double rough = span / 5, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

struct Axis {
  double low, high, begin, end;
  bool log = false;
  double at(double value) const {
    const double share = log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return begin + share * (end - begin);
  }
};

void check_plot(const LinePlot& plot) {
  check(plot.x.size() >= 2 && !plot.series.empty(), "a plot needs two points and a series");
  for (const double x : plot.x) check(std::isfinite(x) && (!plot.log_x || x > 0), "{} is no place on the axis", x);
  for (const LineSeries& series : plot.series) {
    check(series.y.size() == plot.x.size(), "'{}' has {} values for {} places", series.name, series.y.size(),
          plot.x.size());
    for (const double y : series.y) check(std::isfinite(y), "'{}' has a value that is not finite", series.name);
  }
}

void draw_grid(const LinePlot& plot, const Axis& across, const Axis& up, Figure& figure) {
  const double step = tick_step(up.high - up.low);
  for (double y = std::ceil(up.low / step) * step; y <= up.high + step / 1e6; y += step) {
    figure.curves.push_back({.points = {{across.begin, up.at(y)}, {across.end, up.at(y)}}, .color = kGrid});
    figure.texts.push_back({.x = kLeft - 8,
                            .y = up.at(y) + 4,
                            .text = fmt::format("{:.4g}", std::abs(y) < step / 1e6 ? 0 : y),
                            .size = 12,
                            .anchor = Figure::Anchor::end,
                            .color = kAxis});
  }
  for (const double x : plot.x)
    figure.texts.push_back({.x = across.at(x),
                            .y = up.begin + 18,
                            .text = fmt::format("{:.4g}", x),
                            .size = 12,
                            .anchor = Figure::Anchor::middle,
                            .color = kAxis});
}

}  // namespace

Figure line_figure(const LinePlot& plot) {
  check_plot(plot);
  double low = 0, high = 0;
  for (const LineSeries& series : plot.series)
    for (const double y : series.y) low = std::min(low, y), high = std::max(high, y);
  if (high == low) high = low + 1;
  const Axis across{plot.x.front(), plot.x.back(), kLeft, kWidth - kRight, plot.log_x};
  const Axis up{low, high + 0.04 * (high - low), kHeight - kBottom, kTop};
  Figure figure{.width = kWidth, .height = kHeight};
  figure.texts.push_back({.x = kLeft, .y = 18, .text = plot.title, .size = 15, .color = kInk, .bold = true});
  draw_grid(plot, across, up, figure);
  figure.texts.push_back({.x = (kLeft + kWidth - kRight) / 2,
                          .y = kHeight - 10,
                          .text = plot.x_label,
                          .anchor = Figure::Anchor::middle,
                          .color = kInk});
  figure.texts.push_back({.x = 16,
                          .y = (kTop + kHeight - kBottom) / 2,
                          .text = plot.y_label,
                          .anchor = Figure::Anchor::middle,
                          .color = kInk,
                          .angle = -90});
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Color color = kColors[i % kColors.size()];
    Figure::Curve curve{.width = 2.5, .color = color};
    for (std::size_t j = 0; j < plot.x.size(); ++j)
      curve.points.emplace_back(across.at(plot.x[j]), up.at(plot.series[i].y[j]));
    figure.curves.push_back(std::move(curve));
    const double y = kTop + 14 + 22 * static_cast<double>(i), x = kWidth - kRight + 16;
    figure.curves.push_back({.points = {{x, y - 4}, {x + 22, y - 4}}, .width = 2.5, .color = color});
    figure.texts.push_back({.x = x + 30, .y = y, .text = plot.series[i].name, .color = kInk});
  }
  return figure;
}

}  // namespace attend::view
