#include "attend/train/recipes/time_estimate.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "attend/base/progress.h"
#include "attend/ops/linear.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tensor.h"

namespace attend::train {

namespace {

// Operations a second of a product [rows, width] x [width, width], the best of a few.
double product_speed(Backend& backend, DType dtype) {
  using std::chrono::steady_clock;
  constexpr std::int64_t kRows = 512, kWidth = 256;
  constexpr int kTries = 4;
  const Tensor x = make_tensor(backend, {kRows, kWidth}, dtype), weight = make_tensor(backend, {kWidth, kWidth}, dtype);
  backend.fill(x, 0.5f), backend.fill(weight, 0.5f);
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto begin = steady_clock::now();
    const Tensor y = ops::linear(x, weight);
    const double seconds = std::chrono::duration<double>(steady_clock::now() - begin).count();
    best = std::max(best, 2.0 * kRows * kWidth * kWidth / std::max(seconds, 1e-9));
  }
  return best;
}

constexpr double kShare = 0.4;  // of the product's speed: the rest goes to all that is no product

}  // namespace

double training_speed(Backend& backend, DType dtype) { return kShare * product_speed(backend, dtype); }

double estimated_seconds(const WorkOfRun& work, Backend& backend, DType dtype) {
  if (work.tokens == 0 || !backend.on_host()) return 0;
  constexpr double kOperations = 6;
  const double all = kOperations * static_cast<double>(work.weights) * static_cast<double>(work.tokens) *
                     static_cast<double>(work.steps);
  return all / training_speed(backend, dtype);
}

std::string time_text(const WorkOfRun& work, double seconds) {
  if (seconds <= 0) return "";
  if (work.minutes > 0) {
    const double limit = 60 * work.minutes, steps = static_cast<double>(work.steps) * limit / seconds;
    return fmt::format("it {} for {}, roughly {} steps here", work.goes_on ? "continues" : "trains",
                       duration_text(limit), with_commas(std::max<std::int64_t>(1, std::llround(steps))));
  }
  constexpr double kLong = 3600;
  const char* more = work.goes_on ? "more " : "";
  if (seconds < kLong)
    return fmt::format("{} {}steps will take {} here", with_commas(work.steps), more,
                       seconds < 1 ? "less than a second" : "roughly " + duration_text(seconds));
  return fmt::format(
      "warning: {} {}steps will take roughly {} here; fewer --steps, a smaller model or --device cuda take less. "
      "Ctrl-C "
      "saves the run, --resume continues it",
      with_commas(work.steps), more, duration_text(seconds));
}

}  // namespace attend::train
