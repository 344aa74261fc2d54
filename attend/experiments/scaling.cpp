#include "attend/experiments/scaling.h"

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/experiments/normals.h"
#include "attend/view/line_plot.h"

namespace attend::experiments {

namespace {

void add_softmax(const std::vector<double>& scores, double scale, SoftmaxShape& sum) {
  const double most = *std::ranges::max_element(scores);
  std::vector<double> weights;
  double total = 0;
  for (const double score : scores) total += weights.emplace_back(std::exp(scale * (score - most)));
  double squares = 0, cubes = 0, largest = 0;
  for (double& weight : weights) {
    weight /= total;
    if (weight > 0) sum.entropy -= weight * std::log(weight);
    largest = std::max(largest, weight);
    squares += weight * weight, cubes += weight * weight * weight;
  }
  for (const double score : scores) sum.variance += scale * score * scale * score / static_cast<double>(scores.size());
  sum.largest += largest;
  // |diag(p) - p pᵀ|² = Σ p² - 2 Σ p³ + (Σ p²)²
  sum.gradient += std::sqrt(std::max(0.0, squares - 2 * cubes + squares * squares));
}

void divide(SoftmaxShape& sum, std::int64_t count) {
  for (double* value : {&sum.variance, &sum.entropy, &sum.largest, &sum.gradient}) *value /= static_cast<double>(count);
}

}  // namespace

std::vector<ScalingRow> run_scaling(const ScalingOptions& options) {
  check(options.keys >= 2 && options.keys <= 65536, "scaling: 2 to 65536 keys, not {}", options.keys);
  check(options.trials >= 1 && options.trials <= 1'000'000, "scaling: 1 to 1000000 trials, not {}", options.trials);
  check(!options.widths.empty(), "scaling: no width is given");
  std::vector<ScalingRow> rows;
  for (const std::int64_t width : options.widths) {
    check(width >= 1 && width <= 65536, "scaling: d is {}, not between 1 and 65536", width);
    ScalingRow& row = rows.emplace_back(ScalingRow{width, {}, {}});
    Normals normals(options.seed, static_cast<std::uint32_t>(width));
    for (std::int64_t trial = 0; trial < options.trials; ++trial) {
      std::vector<double> query(static_cast<std::size_t>(width)), scores;
      for (double& x : query) x = normals.next();
      for (std::int64_t key = 0; key < options.keys; ++key) {
        double score = 0;
        for (const double x : query) score += x * normals.next();
        scores.push_back(score);
      }
      add_softmax(scores, 1 / std::sqrt(static_cast<double>(width)), row.scaled);
      add_softmax(scores, 1, row.plain);
    }
    divide(row.scaled, options.trials), divide(row.plain, options.trials);
  }
  return rows;
}

view::Figure scaling_figure(const std::vector<ScalingRow>& rows) {
  const auto plot = [&](const char* title, const char* y_label, double SoftmaxShape::*member) {
    view::LinePlot lines{.title = title, .x_label = "d", .y_label = y_label, .log_x = true};
    lines.series = {{"scaled", {}}, {"not scaled", {}}};
    for (const ScalingRow& row : rows) {
      lines.x.push_back(static_cast<double>(row.width));
      lines.series[0].y.push_back(row.scaled.*member), lines.series[1].y.push_back(row.plain.*member);
    }
    return view::line_figure(lines);
  };
  return view::stacked({plot("Entropy of the attention weights", "nats", &SoftmaxShape::entropy),
                        plot("Gradient of the weights by the scores", "norm", &SoftmaxShape::gradient)});
}

}  // namespace attend::experiments
