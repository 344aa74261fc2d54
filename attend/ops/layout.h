// Moves numbers without changing them. split is free, because its results are views; the others copy.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <vector>

#include "attend/tensor/tensor.h"

namespace attend::ops {

// Cuts the last axis into N equal views of x, for example a fused projection into queries, keys and values. Their
// gradients are views of one gradient, so backward copies nothing either.
template <int N>
std::array<Tensor, N> split(const Tensor& x);

// Entries [begin, begin + count) of an axis.
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t count);
// Joins tensors that agree in all other axes.
Tensor concat(std::span<const Tensor> parts, int axis);
inline Tensor concat(std::initializer_list<Tensor> parts, int axis) {
  return concat(std::span(parts.begin(), parts.size()), axis);
}
// Axis i of the result is axis order[i] of x.
Tensor permute(const Tensor& x, std::initializer_list<int> order);
// Returns x itself, or a copy without gaps between its rows.
Tensor contiguous(const Tensor& x);

// [B, T, H·D] <-> [B, H, T, D], for inspection and tests; ops::attention needs neither.
Tensor split_heads(const Tensor& x, std::int64_t heads);
Tensor merge_heads(const Tensor& x);

}  // namespace attend::ops
