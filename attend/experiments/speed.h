// "Are Transformers faster or slower than LSTMs, and why?" Two language models of the same size: three LSTM layers and
// two Transformer layers have 24·C² weights each. A step of the LSTM waits for the step before; the Transformer
// computes all positions at once, but each attends to all before it.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/view/figure.h"

namespace attend {
class Backend;
}

namespace attend::experiments {

struct SpeedOptions {
  std::vector<std::int64_t> lengths = {16, 32, 64, 128, 256, 512};
  std::int64_t width = 128, batch = 8, repeats = 3;
  std::uint64_t seed = 1;
};

// Milliseconds, the fastest of the repeats.
struct SpeedTimes {
  double forward = 0, training = 0;  // of a batch: inference; forward, backward and gradients
  double token = 0;                  // to generate one token behind a text of the length
};
struct SpeedRow {
  std::int64_t length;
  SpeedTimes lstm, transformer;
};
struct SpeedResult {
  std::int64_t lstm_parameters = 0, transformer_parameters = 0;  // without embeddings and positions
  std::vector<SpeedRow> rows;
};
// Throws Error for settings out of range.
SpeedResult run_speed(const SpeedOptions& options, Backend& backend);

view::Figure speed_figure(const SpeedResult& result);

}  // namespace attend::experiments
