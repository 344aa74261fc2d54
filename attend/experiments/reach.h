// Who hears whom: which input of a layer reaches which output. An MLP mixes all positions with fixed weights, a
// convolution hears neighbours, an RNN hears the past through every state in between, self-attention hears all
// positions directly. The picture is the Jacobian of a real layer with random weights: |d output t / d input s|.
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

struct ReachOptions {
  std::int64_t length = 12, width = 16, layers = 1, kernel = 3;
  std::uint64_t seed = 1;
};

struct ReachMap {
  std::string name;
  std::vector<double> sizes;  // [T, T]: row t is an output, column s an input; Frobenius norms
  std::int64_t length = 0;
  double at(std::int64_t output, std::int64_t input) const {
    return sizes[static_cast<std::size_t>(output * length + input)];
  }
  // Share of pairs of positions in which the input reaches the output.
  double reached() const;
};
// Throws Error for settings out of range.
std::vector<ReachMap> run_reach(const ReachOptions& options, Backend& backend);

// A character for each pair: '.' where nothing arrives, else 1 to 9 for its share of the largest.
std::string reach_text(const ReachMap& map);
view::Figure reach_figure(const std::vector<ReachMap>& maps);

}  // namespace attend::experiments
