// Heads, layers and positions taken away by editing weights, and put back at the end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attend/look/inspect/inspect.h"
#include "attend/nn/parameters.h"

namespace attend::look {

class WeightEdits {
 public:
  // Throws Error for heads and layers that the model has not.
  WeightEdits(nn::Parameters& parameters, const Ablation& ablation, const Anatomy& anatomy);
  ~WeightEdits();
  WeightEdits(const WeightEdits&) = delete;
  WeightEdits& operator=(const WeightEdits&) = delete;

  // Row i of this table becomes what row rows[i] was: tokens that stand elsewhere than where they are read.
  void rearrange(const std::string& table, std::span<const std::int64_t> rows);

 private:
  // Keeps what was there and returns it for editing.
  std::vector<float> take(const nn::Parameters::Entry& entry);
  void scale_head(const Anatomy& anatomy, const Ablation::Head& head);
  // Queries times the root of the head width, which undoes the division of the scores by it.
  void unscale(const Anatomy& anatomy, const Anatomy::Attention& attention);
  void clear(const std::string& name);
  void restore();

  nn::Parameters& parameters_;
  std::vector<std::pair<const nn::Parameters::Entry*, std::vector<float>>> before_;
};

bool has_entry(const nn::Parameters& parameters, const std::string& name);
// The parameter of this name. Throws Error.
const nn::Parameters::Entry& find_entry(const nn::Parameters& parameters, const std::string& name);

}  // namespace attend::look
