// Learning rates over the steps of a run, counted from 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace attend::train {

// Vaswani et al. 2017, section 5.3: up linearly for `warmup` steps, then down with the inverse square root.
// peak 0 takes the paper's, 1 / sqrt(width · warmup).
struct InverseSquareRoot {
  std::int64_t warmup = 4000, width = 512;
  float peak = 0;

  float operator()(std::int64_t step) const {
    const auto at = static_cast<double>(step), warm = static_cast<double>(std::max<std::int64_t>(warmup, 1));
    const double top = peak > 0 ? static_cast<double>(peak) : 1 / std::sqrt(static_cast<double>(width) * warm);
    return static_cast<float>(top * std::min(at / warm, std::sqrt(warm / at)));
  }
};

// Up linearly for `warmup` steps, then half a cosine down to `floor` at `steps` (Loshchilov & Hutter 2017).
struct Cosine {
  std::int64_t warmup = 0, steps = 1000;
  float peak = 1e-3f, floor = 0;

  float operator()(std::int64_t step) const {
    if (step <= warmup) return peak * static_cast<float>(step) / static_cast<float>(warmup);
    const double done = std::min(
        1.0, static_cast<double>(step - warmup) / static_cast<double>(std::max<std::int64_t>(steps - warmup, 1)));
    return floor + (peak - floor) * static_cast<float>(0.5 * (1 + std::cos(3.14159265358979323846 * done)));
  }
};

// Up linearly for `warmup` steps, then down linearly to 0 at `steps` (Devlin et al. 2019, appendix A.2).
struct Linear {
  std::int64_t warmup = 0, steps = 1000;
  float peak = 1e-4f;

  float operator()(std::int64_t step) const {
    if (step <= warmup) return peak * static_cast<float>(step) / static_cast<float>(warmup);
    const std::int64_t left = std::max<std::int64_t>(steps - step, 0), all = std::max<std::int64_t>(steps - warmup, 1);
    return peak * static_cast<float>(static_cast<double>(left) / static_cast<double>(all));
  }
};

}  // namespace attend::train
