// Windowed attention with global positions anywhere, a set per sequence (Beltagy et al. 2020, section 3.1). The kernels
// support only the first n positions as global ones (AttentionWindow::globals). So global keys are copied to the front,
// where they are the first n, and the originals are hidden (AttentionMask::seen_from). Time and memory grow with length
// times window, for any set. Then the global queries read all keys in a second attention.
#pragma once

#include "attend/ops/attention.h"
#include "attend/ops/global_positions.h"

namespace attend::ops {

// A second projection for global positions, if the model has one; each like q, k and v.
struct GlobalProjections {
  Tensor q = {}, k = {}, v = {};
};

// Like ops::attention, but global positions attend to all and all attend to them, as far as causality allows. The lists
// must match the layout of options.mask. Its window.globals is ignored; put such positions into the sets. A probe sees
// the weights in the order of k, [B, H, T, S].
Tensor global_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
                        const GlobalPositions& globals, const GlobalProjections& own = {});

}  // namespace attend::ops
