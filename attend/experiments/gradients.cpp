#include "attend/experiments/gradients.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "attend/base/error.h"
#include "attend/experiments/normals.h"
#include "attend/tensor/pass.h"
#include "attend/view/line_plot.h"

namespace attend::experiments {

namespace {

constexpr double kSmallest = 1e-30;  // below it a float has lost its digits

std::vector<double> gradient_sizes(LayerKind kind, const GradientOptions& options, Backend& backend) {
  const auto [width, length, batch] = std::tuple{options.width, options.length, options.batch};
  const auto layer = make_layer(kind, {.width = width, .length = length});
  nn::Parameters parameters(backend, layer->parameters(), {.seed = options.seed});
  if (is_recurrent(kind)) set_start(kind, parameters, options.start);
  const Tensor x = make_tensor(backend, {batch, length, width}, DType::f32),
               dy = make_tensor(backend, x.shape(), x.dtype());
  upload(x, normal_numbers(options.seed, 1, x.size()));
  // The loss reads the last position only.
  std::vector<float> loss(static_cast<std::size_t>(dy.size())),
      direction = normal_numbers(options.seed, 2, batch * width);
  for (std::int64_t b = 0; b < batch; ++b) {
    double squares = 0;
    for (std::int64_t i = 0; i < width; ++i)
      squares += std::pow(static_cast<double>(direction[static_cast<std::size_t>(b * width + i)]), 2);
    for (std::int64_t i = 0; i < width; ++i)
      loss[static_cast<std::size_t>(((b + 1) * length - 1) * width + i)] = static_cast<float>(
          static_cast<double>(direction[static_cast<std::size_t>(b * width + i)]) / std::sqrt(squares));
  }
  upload(dy, loss);
  Pass pass(backend, {.recording = true});
  parameters.start_gradients();
  const Tensor input = pass.variable(x);
  pass.backward((*layer)(input), pass.input(dy));
  const std::vector<float> dx = download(gradient_of(input));  // [B, T, C]
  std::vector<double> sizes(static_cast<std::size_t>(length));
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t distance = 0; distance < length; ++distance) {
      double squares = 0;
      for (std::int64_t i = 0; i < width; ++i)
        squares += std::pow(
            static_cast<double>(dx[static_cast<std::size_t>(((b + 1) * length - 1 - distance) * width + i)]), 2);
      sizes[static_cast<std::size_t>(distance)] += std::sqrt(squares) / static_cast<double>(batch);
    }
  return sizes;
}

}  // namespace

std::vector<GradientCurve> run_gradients(const GradientOptions& options, Backend& backend) {
  check(options.length >= 3 && options.length <= 4096, "gradients: 3 to 4096 positions, not {}", options.length);
  check(options.batch >= 1 && options.batch <= 1024, "gradients: 1 to 1024 sequences, not {}", options.batch);
  check(std::isfinite(options.start.gain) && std::isfinite(options.start.forget_bias),
        "gradients: the gain and the forget bias must be numbers");
  std::vector<GradientCurve> curves;
  for (const LayerKind kind : {LayerKind::tanh, LayerKind::gru, LayerKind::lstm, LayerKind::attention})
    curves.push_back({kind, gradient_sizes(kind, options, backend)});
  return curves;
}

std::vector<std::int64_t> shown_distances(std::int64_t length) {
  std::vector<std::int64_t> distances = {0};
  for (std::int64_t distance = 1; distance < length; distance *= 2) distances.push_back(distance);
  if (distances.back() != length - 1) distances.push_back(length - 1);
  return distances;
}

view::Figure gradients_figure(const std::vector<GradientCurve>& curves) {
  view::LinePlot plot{.title = "Gradient of the loss at the end by the input",
                      .x_label = "distance from the end",
                      .y_label = "log10 of its size",
                      .log_x = true};
  const auto length = static_cast<std::int64_t>(curves.at(0).sizes.size());
  std::vector<std::int64_t> distances = shown_distances(length);
  distances.erase(distances.begin());  // a logarithmic axis has no 0
  for (const std::int64_t distance : distances) plot.x.push_back(static_cast<double>(distance));
  for (const GradientCurve& curve : curves) {
    view::LineSeries& series = plot.series.emplace_back(view::LineSeries{std::string(name_of(curve.kind)), {}});
    for (const std::int64_t distance : distances)
      series.y.push_back(std::log10(std::max(curve.sizes[static_cast<std::size_t>(distance)], kSmallest)));
  }
  return view::line_figure(plot);
}

}  // namespace attend::experiments
