// A small training loop for experiments: Adam, a cosine schedule, and the losses on the way. Batches are made by a
// function, so there are no files; the same seed gives the same numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attend/nn/parameters.h"
#include "attend/tensor/pass.h"
#include "attend/view/figure.h"

namespace attend::experiments {

struct LearnOptions {
  std::int64_t steps = 300, warmup = 30;
  float rate = 3e-3f;
  std::int64_t points = 10;                        // of the curve
  std::function<void(std::int64_t)> on_step = {};  // called with the number of steps that are done
};

struct LearningCurve {
  std::vector<double> steps, losses;  // the mean loss of the steps since the point before
  double seconds = 0;
};

struct LearnTask {
  std::function<void(std::int64_t step)> load;  // fills the tensors that the loss reads
  std::function<Tensor(Pass& pass)> loss;       // f32 [1]
};

// Throws Error for settings out of range.
LearningCurve learn(nn::Parameters& parameters, Backend& backend, const LearnTask& task, const LearnOptions& options);

// Curves over the same steps in one plot.
struct NamedCurve {
  std::string name;
  LearningCurve curve;
};
view::Figure curves_figure(const std::string& title, const std::vector<NamedCurve>& curves);

}  // namespace attend::experiments
