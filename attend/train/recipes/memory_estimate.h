// About how much memory a training step of a Transformer takes, said before its first one, and what to change where
// that is more than there is.
#pragma once

#include <cstdint>
#include <string>

#include "attend/base/dtype.h"
#include "attend/tensor/pass.h"

namespace attend::train {

// The sizes of what is trained; layers 0: nobody knows.
struct StepSizes {
  std::int64_t tokens = 0;  // of a batch
  std::int64_t layers = 0, width = 0, hidden = 0, heads = 0, vocabulary = 0;
};

struct StepMemory {
  double weights = 0;  // bytes: values, gradients and the optimiser's moments
  double kept = 0;     // what the forward pass keeps for the backward pass
  double work = 0;     // the largest of what is there for a while: a layer that runs again, a chunk of logits
  double all() const { return weights + kept + work; }
};

StepMemory estimated_memory(const StepSizes& sizes, std::int64_t weights, DType dtype, Recompute recompute);

// "a step will take roughly 2.1 GB"; where that is more than `room` bytes (0: unknown), a warning with what takes less.
std::string memory_text(const StepSizes& sizes, std::int64_t weights, DType dtype, Recompute recompute, double room);

}  // namespace attend::train
