// The settings positions, position_combination and position_width of a config: how a model learns where a token stands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attend/base/json_fwd.h"

namespace attend::models {

enum class Positions : std::uint8_t { sinusoidal, sinusoidal_halves, learned, rotary, relative, none };

// Throws Error naming what and the encodings that there are.
Positions positions_named(std::string_view name, std::string_view what);
// True if the embeddings carry the position; otherwise attention does, or nothing.
inline bool in_embeddings(Positions positions) { return positions <= Positions::learned; }

// Vaswani et al. 2017 add the position to the embedding. Concatenated, it has columns of its own: the last ones of the
// model's width, instead of those of the embedding.
struct PositionCombination {
  std::string position_combination = "add";
  std::int64_t position_width = 0;

  bool concatenates() const { return position_combination == "concatenate"; }
  // How many columns hold the position: all where it is added, and by default a quarter where it is concatenated.
  std::int64_t columns(std::int64_t width) const {
    return !concatenates() ? width : position_width != 0 ? position_width : width / 4;
  }
  // Throws Error naming what and the first value that makes no sense.
  void check(Positions positions, std::int64_t width, std::string_view what) const;
  // Removes both settings from the files of models that add.
  void leave_out_of(Json& json) const;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("position_combination", position_combination,
      "How positions enter the embeddings: add, or concatenate in columns of their own.");
    v("position_width", position_width, "With concatenate: columns for the position; 0 means a quarter of the width.");
  }
};

}  // namespace attend::models
