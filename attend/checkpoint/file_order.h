// Weights of convolutions are [O, kh, kw, C / groups] here, in the order in which windows are read, and [O, C / groups,
// kh, kw] in files.
#pragma once

#include <span>
#include <vector>

#include "attend/tensor/tensor.h"

namespace attend::checkpoint {

// The shape that files have.
Shape channels_first(const Shape& weight);
// The weight as files have it.
Tensor channels_first(const Tensor& weight);
// And back: values of a file's tensor of this shape, in our order.
std::vector<float> channels_last(std::span<const float> values, const Shape& in_file);

}  // namespace attend::checkpoint
