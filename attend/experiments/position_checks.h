// What a position encoding should be, computed for four of them: unique, bounded, the same distance for the same offset
// wherever it is, and defined beyond the longest sentence of training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/view/figure.h"

namespace attend::experiments {

struct PositionOptions {
  std::int64_t length = 64, width = 32;
  std::int64_t offset = 3;  // between the positions whose distance is compared
};

struct PositionEncoding {
  std::string name;
  std::int64_t width = 0;
  std::vector<double> table;         // [length, width]
  std::vector<double> longer_table;  // of a text twice as long, [2·length, width]; empty: there is none
};
std::vector<PositionEncoding> position_encodings(const PositionOptions& options);

struct PositionCheck {
  std::string name;
  double nearest = 0;          // smallest distance of two positions
  double largest = 0;          // absolute value in a text twice as long; of a table that ends, in the text itself
  double least = 0, most = 0;  // distance of positions i and i + offset, over all i
  bool changes = false;        // a position has other numbers in a longer text
  bool unique = false, bounded = false, consistent = false, longer = false;
};
// Throws Error for settings out of range.
std::vector<PositionCheck> check_positions(const PositionOptions& options);

// Sinusoids beside the binary counter: rows are positions, columns are dimensions.
view::Figure positions_figure(const PositionOptions& options);

}  // namespace attend::experiments
