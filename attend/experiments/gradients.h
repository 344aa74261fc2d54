// Vanishing gradients (Hochreiter 1991; Bengio et al. 1994): how large the gradient of a loss at the last position is
// at inputs that lie further and further back. In an RNN it passes through one step for each position in between; in
// self-attention it arrives directly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/experiments/sequence_layer.h"
#include "attend/view/figure.h"

namespace attend {
class Backend;
}

namespace attend::experiments {

struct GradientOptions {
  std::int64_t width = 64, length = 129, batch = 16;
  RecurrentStart start = {.forget_bias = 3};
  std::uint64_t seed = 1;
};

struct GradientCurve {
  LayerKind kind;
  std::vector<double> sizes;  // by distance: 0 is the last position
};
// |d loss / d input|, mean over the batch. The loss is the last output times a random vector of length 1. Throws Error
// for settings out of range.
std::vector<GradientCurve> run_gradients(const GradientOptions& options, Backend& backend);

// 0, 1, 2, 4, .. and the last one.
std::vector<std::int64_t> shown_distances(std::int64_t length);
view::Figure gradients_figure(const std::vector<GradientCurve>& curves);

}  // namespace attend::experiments
