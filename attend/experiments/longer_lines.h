// Positions and lines longer than those of training. Small GPTs read lines in which every letter is the successor of
// the letter `offset` places before it. They are trained on short lines and tested on lines twice as long.
//   learned       a table (Radford et al. 2019): rows beyond the training lines were never trained
//   sinusoidal    Vaswani et al. 2017, section 3.5
//   relative      a bias by distance (Raffel et al. 2020)
//   rotary        queries and keys turned by their positions (Su et al. 2021)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/experiments/learn.h"
#include "attend/view/figure.h"

namespace attend::experiments {

struct LongerOptions {
  std::vector<std::string> positions = {"learned", "sinusoidal", "relative", "rotary"};
  std::int64_t length = 24, offset = 5, letters = 16;
  std::int64_t rows = 32, tested = 64;  // lines in a batch, and in the test
  std::uint64_t seed = 1;
  LearnOptions learn = {.steps = 400};
};

struct LongerResult {
  std::string positions = {};
  std::int64_t parameters = 0;
  LearningCurve curve = {};
  std::vector<double> right = {};  // share of right letters by place, from `offset` to 2·length
  double within = 0, beyond = 0;   // means over the places of training, and over those behind them
};

// Throws Error for settings out of range.
std::vector<LongerResult> run_longer(const LongerOptions& options, Backend& backend);
view::Figure longer_figure(const LongerOptions& options, const std::vector<LongerResult>& results);

}  // namespace attend::experiments
