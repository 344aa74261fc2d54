// Heads and layers taken away by editing weights, and put back at the end.
#pragma once

#include <utility>
#include <vector>

#include "attend/nn/parameters.h"
#include "attend/tasks/inspect.h"

namespace attend::tasks {

class WeightEdits {
 public:
  // places: what the model has. Throws Error for heads and layers that are not among them.
  WeightEdits(nn::Parameters& parameters, const Ablation& ablation,
              const std::vector<std::pair<AttentionPlace, std::int64_t>>& places);
  ~WeightEdits();
  WeightEdits(const WeightEdits&) = delete;
  WeightEdits& operator=(const WeightEdits&) = delete;

 private:
  const nn::Parameters::Entry& find(const std::string& name) const;
  // Keeps what was there and returns it for editing.
  std::vector<float> take(const nn::Parameters::Entry& entry);
  void clear(const std::string& name);
  void restore();

  nn::Parameters& parameters_;
  std::vector<std::pair<const nn::Parameters::Entry*, std::vector<float>>> before_;
};

}  // namespace attend::tasks
