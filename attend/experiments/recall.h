// "The professor who was named early": a name, many words that do not matter, and at the end the question for the name.
// An RNN has to carry the name through every state in between. Attention looks it up. Each network is trained for each
// distance and then asked about names it has not seen in these texts.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "attend/experiments/sequence_layer.h"
#include "attend/view/figure.h"

namespace attend {
class Backend;
}

namespace attend::experiments {

struct RecallOptions {
  std::vector<std::int64_t> distances = {4, 8, 16, 32, 64, 128};  // from the name to the question, in tokens
  std::int64_t names = 16, words = 16, width = 32, batch = 32, steps = 300;
  double learning_rate = 5e-3;
  std::uint64_t seed = 1;
};

inline constexpr LayerKind kRecallLayers[] = {LayerKind::tanh, LayerKind::gru, LayerKind::lstm, LayerKind::attention};

struct RecallRow {
  std::int64_t distance;
  std::vector<double> accuracy;  // of each of kRecallLayers on unseen texts
};
// done(row) hears of each distance once all networks were asked. Throws Error for settings out of range.
std::vector<RecallRow> run_recall(const RecallOptions& options, Backend& backend,
                                  const std::function<void(const RecallRow&)>& done = {});

view::Figure recall_figure(const std::vector<RecallRow>& rows, double chance);

}  // namespace attend::experiments
