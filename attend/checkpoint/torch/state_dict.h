// Finds the tensors of a pickle: those of its state dict, with names made of the keys above them, joined by dots.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/checkpoint/torch/pickle.h"

namespace attend::checkpoint::torch {

struct NamedTensor {
  std::string name;
  std::uint32_t tensor = 0;  // of the pickle's list
};

struct StateDict {
  std::vector<NamedTensor> tensors;   // in the order of the pickle
  std::vector<std::string> left_out;  // keys beside a wrapped state dict that hold tensors too: "optimizer"
};

// A checkpoint {"state_dict": .., "epoch": 3} (or "model_state_dict", or "model") is its state dict, without the
// wrapper's name in front. Numbers and texts beside tensors are nobody's concern.
StateDict find_state_dict(const Pickle& pickle, const std::string& source);

}  // namespace attend::checkpoint::torch
