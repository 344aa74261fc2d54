// The end of a language model: output layer and loss as one op. The logits [rows, V] are its largest tensor by far. So
// they are computed and turned into gradients in chunks of rows, which bounds their memory.
#pragma once

#include <cstdint>

#include "attend/ops/softmax.h"
#include "attend/tensor/tensor.h"

namespace attend::ops {

// cross_entropy(x Wᵀ + b, targets).   x [.., C]   weight [V, C]   bias [V] or undefined   targets i32 [..]
// If the result is recorded, forward also computes the gradients, and backward only scales and hands them on.
// chunk_bytes is about how much memory the logits take at a time.
Loss linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& targets,
                          const CrossEntropyOptions& options = {}, std::int64_t chunk_bytes = std::int64_t{2} << 30);

}  // namespace attend::ops
