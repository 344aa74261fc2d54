// Moving numbers without changing them. split is free (windows); the others copy.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <vector>

#include "attend/tensor/tensor.h"

namespace attend::ops {

// Cuts the last axis into N equal parts, as windows onto x: a fused projection into its queries, keys and values.
// Their gradients are windows of one gradient too, so nothing is copied on the way back either.
template <int N>
std::array<Tensor, N> split(const Tensor& x);

// [begin, begin + count) of an axis.
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t count);
Tensor concat(std::span<const Tensor> parts, int axis);
inline Tensor concat(std::initializer_list<Tensor> parts, int axis) {
  return concat(std::span(parts.begin(), parts.size()), axis);
}
// y's axis i is x's axis order[i].
Tensor permute(const Tensor& x, std::initializer_list<int> order);
// x itself, or a copy without gaps between its rows.
Tensor contiguous(const Tensor& x);

// [B, T, H·D] <-> [B, H, T, D]: for images and tests; ops::attention needs neither.
Tensor split_heads(const Tensor& x, std::int64_t heads);
Tensor merge_heads(const Tensor& x);

}  // namespace attend::ops
