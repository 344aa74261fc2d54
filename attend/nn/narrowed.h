// Narrows the attention window of a model, for inspection (attend/look/inspect).
#pragma once

#include <cstdint>

#include "attend/tensor/attention_window.h"

namespace attend::nn {

// At most `others` other positions, half on each side if attention is not causal; -1 leaves the window unchanged.
constexpr AttentionWindow narrowed(AttentionWindow window, std::int64_t others, bool causal) {
  if (others < 0) return window;
  const std::int64_t reach = causal ? others : others / 2;
  if (window.before < 0 || window.before > reach) window.before = reach;
  if (window.after < 0 || window.after > reach) window.after = reach;
  return window;
}

}  // namespace attend::nn
