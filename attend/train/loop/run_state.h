// What decides the rest of a run, as one file: flat masters and moments, and the counters as JSON in its header.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/nn/parameters.h"
#include "attend/train/loop/optimizer.h"

namespace attend::train {

struct RunState {
  std::int64_t step = 0;
  double seconds = 0;      // of training so far
  std::int64_t items = 0;  // tokens or images learned from so far
  double best_score = -1e300, best_loss = 0;
  std::int64_t best_step = 0, validations_since_best = 0;
  std::vector<std::int64_t> checkpoints = {};  // steps whose weights are kept for averaging
  // Since the last line of the log.
  struct SinceLog {
    std::int64_t steps = 0, items = 0;
    double seconds = 0;
    std::vector<double> losses = {};  // sums: of the whole, and of its parts
  } since_log = {};
  Json position = {};  // in the data
};

// What learns: parameters, and the optimiser that has their moments. Several have names.
struct OptimizedParameters {
  nn::Parameters& parameters;
  Optimizer& optimizer;
  std::string name = {};
};

// The file's bytes.
void produce_state(const FileWriter& write, const RunState& state, std::span<const OptimizedParameters> all);
// What the file says of the run, without the weights. Throws Error when it is damaged.
RunState read_counters(const std::filesystem::path& file);
// Throws Error when the file is damaged or belongs to another model.
RunState load_state(const std::filesystem::path& file, std::span<const OptimizedParameters> all);

}  // namespace attend::train
