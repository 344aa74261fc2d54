// The end of a language model: the output layer and its loss as one op. The logits are its largest tensor by far, so
// they are made, judged and turned into gradients a few thousand rows at a time and never stand in memory all at once.
#pragma once

#include <cstdint>

#include "attend/ops/softmax.h"
#include "attend/tensor/tensor.h"

namespace attend::ops {

// cross_entropy(x Wᵀ + b, targets).   x [.., C]   weight [V, C]   bias [V] or undefined   targets i32 [..]
// Where the result is recorded, the gradients are computed along with it: backward only hands them over.
// chunk_bytes: about how much of the logits there is at a time.
Loss linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& targets,
                          const CrossEntropyOptions& options = {}, std::int64_t chunk_bytes = std::int64_t{2} << 30);

}  // namespace attend::ops
