#include "attend/models/position_settings.h"

#include <utility>

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend::models {

Positions positions_named(std::string_view name, std::string_view what) {
  constexpr std::pair<std::string_view, Positions> kNames[] = {
      {"sinusoidal", Positions::sinusoidal}, {"sinusoidal-halves", Positions::sinusoidal_halves},
      {"learned", Positions::learned},       {"rotary", Positions::rotary},
      {"relative", Positions::relative},     {"none", Positions::none}};
  for (const auto& [known, positions] : kNames)
    if (known == name) return positions;
  fail("{}: unknown positions '{}'; there are sinusoidal, sinusoidal-halves, learned, rotary, relative and none", what,
       name);
}

void PositionCombination::check(Positions positions, std::int64_t width, std::string_view what) const {
  attend::check(concatenates() || position_combination == "add",
                "{}: unknown position_combination '{}'; there are add and concatenate", what, position_combination);
  if (!concatenates()) {
    attend::check(position_width == 0,
                  "{}: position_width is {}, but positions are added to all {} columns; it needs concatenate", what,
                  position_width, width);
    return;
  }
  attend::check(in_embeddings(positions),
                "{}: position_combination is concatenate, but these positions are not in the embeddings", what);
  const std::int64_t own = columns(width);
  attend::check(own >= 2 && own < width && own % 2 == 0,
                "{}: position_width must be even, and at least 2 and below the width of {}, not {}", what, width, own);
}

void PositionCombination::leave_out_of(Json& json) const {
  if (!concatenates()) json.erase("position_combination");
  if (position_width == 0) json.erase("position_width");
}

}  // namespace attend::models
