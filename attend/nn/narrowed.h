// Attention cut to a narrower window than its model has, for those who look (attend/look/inspect).
#pragma once

#include <cstdint>

#include "attend/tensor/attention_window.h"

namespace attend::nn {

// A window that shows at most so many others, half of them on each side where attention is not causal; -1: as it was.
constexpr AttentionWindow narrowed(AttentionWindow window, std::int64_t others, bool causal) {
  if (others < 0) return window;
  const std::int64_t reach = causal ? others : others / 2;
  if (window.before < 0 || window.before > reach) window.before = reach;
  if (window.after < 0 || window.after > reach) window.after = reach;
  return window;
}

}  // namespace attend::nn
