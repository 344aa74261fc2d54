// Attention under a window with global positions anywhere, a set for each sequence (Beltagy et al. 2020, section 3.1).
// The kernels know the first n positions as global ones (AttentionWindow::globals), which is all that a band and a few
// more keys need. So the keys that are global are copied in front of the others, where they are the first n, and the
// originals are hidden (AttentionMask::seen_from): time and memory grow as n·w, for any set. The global queries then
// read all keys once more, by themselves.
#pragma once

#include "attend/ops/attention.h"
#include "attend/ops/global_positions.h"

namespace attend::ops {

// What the global positions read by, where that is not q, k and v: projections of their own.
struct GlobalProjections {
  Tensor q = {}, k = {}, v = {};
};

// As ops::attention, where global positions see all and are seen by all, as far as causality lets them. The lists must
// have been made for the layout of options.mask, whose window.globals is not read: who wants the first n among them
// puts these into the sets. A probe sees the weights by the places of k, [B, H, T, S].
Tensor global_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
                        const GlobalPositions& globals, const GlobalProjections& own = {});

}  // namespace attend::ops
