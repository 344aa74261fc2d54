// Window settings (Beltagy et al. 2020, section 3.1) as the attention kernels read them, and their checks.
#include "attend/models/attention_windows.h"

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/limits.h"
#include "attend/models/config_checks.h"

namespace attend::models {

AttentionWindow WindowSettings::of_layer(std::int64_t layer, AttentionDirection direction) const {
  if (attention_window.empty()) return {};
  const std::int64_t all =
      attention_window.size() == 1 ? attention_window.front() : attention_window.at(static_cast<std::size_t>(layer));
  if (all < 0) return {};
  // A causal window lies wholly before the token; the other kind has half on each side.
  if (direction == AttentionDirection::causal) return {.before = all, .after = 0, .globals = global_tokens};
  return {.before = all / 2, .after = all / 2, .globals = global_tokens};
}

std::vector<AttentionWindow> WindowSettings::of_layers(std::int64_t layers, AttentionDirection direction) const {
  std::vector<AttentionWindow> windows;
  for (std::int64_t i = 0; i < layers && !attention_window.empty(); ++i) windows.push_back(of_layer(i, direction));
  return windows;
}

void WindowSettings::check(std::string_view what, std::int64_t layers, AttentionDirection direction) const {
  attend::check(attention_window.size() <= 1 || static_cast<std::int64_t>(attention_window.size()) == layers,
                "{}: attention_window has {} numbers; it takes one, or one for each of the {} layers", what,
                attention_window.size(), layers);
  for (const std::int64_t window : attention_window) {
    check_limited(what, "attention_window", window, -1, limits::kMostPositions);
    attend::check(direction == AttentionDirection::causal || window < 0 || window % 2 == 0,
                  "{}: attention_window must be even, half before a token and half behind it, not {}", what, window);
  }
  check_limited(what, "global_tokens", global_tokens, 0, limits::kMostPositions);
  attend::check(global_tokens == 0 || !attention_window.empty(),
                "{}: global_tokens is {}, but without attention_window every token sees all; give both", what,
                global_tokens);
}

void WindowSettings::check_written(const Json& json, std::string_view what) {
  const auto found = json.find("attention_window");
  attend::check(found == json.end() || !found->is_array() || !found->empty(),
                "{}: 'attention_window' is an empty list; leave it out where every token sees all", what);
}

void WindowSettings::leave_out_of(Json& json) const {
  if (attention_window.empty()) json.erase("attention_window");
  if (global_tokens == 0) json.erase("global_tokens");
}

}  // namespace attend::models
