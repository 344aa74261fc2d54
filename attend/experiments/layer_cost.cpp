#include "attend/experiments/layer_cost.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/experiments/normals.h"
#include "attend/experiments/stopwatch.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/counting_backend.h"
#include "attend/tensor/pass.h"
#include "attend/view/line_plot.h"

namespace attend::experiments {

namespace {

double counted(LayerKind kind, const LayerSizes& sizes, std::int64_t length) {
  CountingBackend backend;
  const auto layer = make_layer(kind, sizes);
  const nn::Parameters parameters(backend, layer->parameters(), {.trained = false, .initialized = false});
  Pass pass(backend);
  (*layer)(pass.input(make_tensor(backend, {1, length, sizes.width}, DType::f32)));
  return backend.multiply_adds();
}

// Layers until the first input reaches the last output; a recurrent layer takes a step for each position.
std::int64_t path_of(LayerKind kind, std::int64_t length, std::int64_t kernel) {
  if (kind == LayerKind::attention) return 1;
  if (is_recurrent(kind)) return length;
  const std::int64_t reach = std::max<std::int64_t>(kernel / 2, 1);  // to one side
  return (length - 1 + reach - 1) / reach;
}

LayerCostRow measured(LayerKind kind, std::int64_t length, const LayerCostOptions& options, Backend& backend) {
  const LayerSizes sizes{.width = options.width, .kernel = options.kernel};
  const auto layer = make_layer(kind, sizes);
  nn::Parameters parameters(backend, layer->parameters(), {.seed = options.seed});
  const Tensor x = make_tensor(backend, {1, length, options.width}, DType::f32);
  upload(x, normal_numbers(options.seed, 1, x.size()));
  LayerCostRow row{.kind = kind, .length = length, .multiply_adds = counted(kind, sizes, length)};
  row.sequential = is_recurrent(kind) ? length : 1;
  row.path = path_of(kind, length, options.kernel);
  {
    Pass pass(backend);
    row.forward = fastest_milliseconds(options.repeats, [&] {
      pass.begin({.plan = 1});
      (*layer)(pass.input(x));
      backend.synchronize();
    });
  }
  Pass pass(backend, {.recording = true});
  row.training = fastest_milliseconds(options.repeats, [&] {
    pass.begin({.plan = 1});
    parameters.start_gradients();
    const Tensor y = (*layer)(pass.input(x));
    pass.backward(y, pass.input(x));  // any gradient takes the same time
    backend.synchronize();
  });
  return row;
}

}  // namespace

std::vector<LayerCostRow> run_layer_costs(const LayerCostOptions& options, Backend& backend) {
  check(!options.lengths.empty(), "layers: no length is given");
  check(options.repeats >= 1 && options.repeats <= 1000, "layers: 1 to 1000 repeats, not {}", options.repeats);
  std::vector<LayerCostRow> rows;
  for (const std::int64_t length : options.lengths) {
    check(length >= 1 && length <= 65536, "layers: a length of 1 to 65536, not {}", length);
    for (const LayerFormula& formula : kLayerFormulas) rows.push_back(measured(formula.kind, length, options, backend));
  }
  return rows;
}

view::Figure layer_cost_figure(const std::vector<LayerCostRow>& rows) {
  view::LinePlot plot{.title = "Forward pass of one layer", .x_label = "length n", .y_label = "ms", .log_x = true};
  for (const LayerFormula& formula : kLayerFormulas) plot.series.push_back({std::string(name_of(formula.kind)), {}});
  for (const LayerCostRow& row : rows) {
    if (row.kind == kLayerFormulas[0].kind) plot.x.push_back(static_cast<double>(row.length));
    for (std::size_t i = 0; i < plot.series.size(); ++i)
      if (kLayerFormulas[i].kind == row.kind) plot.series[i].y.push_back(row.forward);
  }
  return view::line_figure(plot);
}

}  // namespace attend::experiments
