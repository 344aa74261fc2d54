// Table 1 of Vaswani et al. 2017, with measurements: complexity of a layer, steps that wait for each other, and the
// longest path between two positions.
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

struct LayerCostOptions {
  std::vector<std::int64_t> lengths = {16, 64, 256, 1024};  // n
  std::int64_t width = 64, kernel = 3;                      // d, k; the window r of restricted attention is the same
  std::int64_t repeats = 5;
  std::uint64_t seed = 1;
};

// The paper's formulas.
struct LayerFormula {
  LayerKind kind;
  const char *complexity, *sequential, *path;
};
inline constexpr LayerFormula kLayerFormulas[] = {{LayerKind::attention, "n²·d", "1", "1"},
                                                  {LayerKind::tanh, "n·d²", "n", "n"},
                                                  {LayerKind::convolution, "k·n·d²", "1", "n/k"},
                                                  {LayerKind::restricted_attention, "r·n·d", "1", "n/r"}};

struct LayerCostRow {
  LayerKind kind;
  std::int64_t length;
  double multiply_adds = 0;  // counted, projections included
  std::int64_t sequential = 1;
  std::int64_t path = 1;             // layers, or steps of an RNN, until the first input reaches the last output
  double forward = 0, training = 0;  // milliseconds for one sequence: the fastest of the repeats
};
// Throws Error for settings out of range.
std::vector<LayerCostRow> run_layer_costs(const LayerCostOptions& options, Backend& backend);

view::Figure layer_cost_figure(const std::vector<LayerCostRow>& rows);

}  // namespace attend::experiments
