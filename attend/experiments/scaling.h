// Why attention divides by √d (Vaswani et al. 2017, section 3.2.1 and footnote 4). The components of q and k are
// independent with mean 0 and variance 1, so q·k has variance d. Without the division the softmax of large d puts all
// weight on one key, and its gradient vanishes.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/view/figure.h"

namespace attend::experiments {

struct ScalingOptions {
  std::vector<std::int64_t> widths = {4, 16, 64, 256, 1024};  // d
  std::int64_t keys = 32, trials = 400;
  std::uint64_t seed = 1;
};

// Means over the trials, of the softmax over the keys of one query.
struct SoftmaxShape {
  double variance = 0;  // of the scores
  double entropy = 0;   // in nats; ln(keys) when all weights are equal
  double largest = 0;   // weight
  double gradient = 0;  // Frobenius norm of d weights / d scores: diag(p) - p pᵀ
};
struct ScalingRow {
  std::int64_t width;
  SoftmaxShape scaled, plain;
};

// Throws Error for settings out of range.
std::vector<ScalingRow> run_scaling(const ScalingOptions& options);

view::Figure scaling_figure(const std::vector<ScalingRow>& rows);

}  // namespace attend::experiments
