// Local attention (Beltagy et al. 2020, section 3.1): who sees whom where each position looks only so far. Said
// once for the kernels of both devices, which count in integers of their own.
#pragma once

#include <cstdint>

namespace attend {

// A query that stands at key p of its sequence sees keys p - before to p + after, and none behind p where attention is
// causal. The first `globals` positions see all and are seen by all, as far as causality lets them.
struct AttentionWindow {
  std::int64_t before = -1, after = -1;  // -1: all
  std::int64_t globals = 0;
  // Whether it hides anything that causality does not.
  constexpr bool bars(bool causal) const { return before >= 0 || (after >= 0 && !causal); }
};

// The same for one sequence, as kernels ask.
template <class Int>
struct WindowView {
  static constexpr Int kFar = Int{1} << 29, kNever = 0x7fffffff;  // sums of kFar and two lengths fit an int

  bool causal = false;
  Int visible = 0;                  // keys that may be seen at all
  Int place = 0;                    // query t stands at key t + place
  Int before = kFar, after = kFar;  // after: 0 where causal
  Int globals = 0;                  // keys [0, globals) are seen by everyone (where causal: from there on),
  Int seeing = 0;                   // queries [0, seeing) see every key

  constexpr WindowView() = default;
  constexpr WindowView(bool causal_form, const AttentionWindow& window, Int keys, Int queries, Int visible_keys)
      : causal(causal_form),
        visible(visible_keys),
        place(keys - queries),
        before(bounded(window.before)),
        after(causal_form ? 0 : bounded(window.after)),
        globals(bounded(window.globals)),
        seeing(causal_form || globals <= place || globals == 0 ? 0 : globals - place) {}

  // Query t sees keys [from, end), and of those in front of them [0, globals).
  constexpr Int from(Int t) const { return t < seeing || t + place < before ? 0 : t + place - before; }
  constexpr Int end(Int t) const {
    const Int last = t + place + after + 1;
    return t < seeing || last > visible ? visible : last < 0 ? 0 : last;
  }
  constexpr bool sees(Int t, Int s) const { return s < end(t) && (s >= from(t) || s < globals); }
  // Key s is seen by queries [start, stop), and by [0, seeing).
  constexpr Int start(Int s) const {
    return s >= visible ? kNever : s < globals && !causal ? -kFar : s - place - after;
  }
  constexpr Int stop(Int s) const { return s >= visible ? 0 : s < globals ? kNever : s - place + before + 1; }
  constexpr Int seeing_key(Int s) const { return s < visible ? seeing : 0; }

 private:
  static constexpr Int bounded(std::int64_t n) { return n < 0 || n > kFar ? kFar : static_cast<Int>(n); }
};

}  // namespace attend
