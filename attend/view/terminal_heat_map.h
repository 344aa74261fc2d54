// A matrix of weights as coloured cells in the terminal: who looks (down) at whom (across).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attend/base/terminal.h"

namespace attend::view {

struct HeatMap {
  std::vector<std::string> rows, columns;  // UTF-8 labels
  std::span<const float> weights;          // [rows, columns], 0 to 1
};

// With colour: true-colour cells on a dark-to-bright, colour-blind-safe scale. Without: shades of characters.
// Labels stand over their columns where they fit. Where they do not, each gets a line of its own, like stairs, and
// where the terminal is too narrow even for that the columns are drawn in several parts, one under the other.
std::string draw(const HeatMap& map, const Terminal& terminal);

}  // namespace attend::view
