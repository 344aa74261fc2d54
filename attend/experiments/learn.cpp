#include "attend/experiments/learn.h"

#include <algorithm>
#include <chrono>

#include "attend/base/error.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/step_graph.h"
#include "attend/train/loop/optimizer.h"
#include "attend/train/loop/schedule.h"
#include "attend/view/line_plot.h"

namespace attend::experiments {

LearningCurve learn(nn::Parameters& parameters, Backend& backend, const LearnTask& task, const LearnOptions& options) {
  check(options.steps >= 2 && options.steps <= 1'000'000, "experiment: 2 to 1000000 steps, not {}", options.steps);
  const auto start = std::chrono::steady_clock::now();
  const Tensor loss = make_tensor(backend, {1}, DType::f32);
  train::Optimizer optimizer(parameters, {.clip_norm = 1});
  const train::Cosine rate{
      .warmup = std::min(options.warmup, options.steps / 2), .steps = options.steps, .peak = options.rate};
  Pass pass(backend, {.recording = true});
  StepGraph graph(pass);
  const auto one_step = [&] {
    parameters.start_gradients();
    const Tensor mean = task.loss(pass);
    backend.scale(mean, 1, {loss});
    pass.backward(mean);
    parameters.finish_gradients();
    optimizer.update();
  };
  LearningCurve curve;
  const std::int64_t every = std::max<std::int64_t>(1, options.steps / std::max<std::int64_t>(2, options.points));
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    task.load(step);
    optimizer.set_rate(rate(step), step);
    graph.run(0, static_cast<std::uint64_t>(step), one_step);
    sum += static_cast<double>(download(loss)[0]), ++count;
    if (step % every == 0) {
      curve.steps.push_back(static_cast<double>(step)), curve.losses.push_back(sum / static_cast<double>(count));
      sum = 0, count = 0;
    }
    if (options.on_step) options.on_step(step);
  }
  curve.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return curve;
}

view::Figure curves_figure(const std::string& title, const std::vector<NamedCurve>& curves) {
  check(!curves.empty(), "experiment: there is no curve to draw");
  view::LinePlot plot{.title = title, .x_label = "steps", .y_label = "loss", .x = curves[0].curve.steps};
  for (const NamedCurve& one : curves) plot.series.push_back({one.name, one.curve.losses});
  return view::line_figure(plot);
}

}  // namespace attend::experiments
