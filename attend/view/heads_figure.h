// All that was seen of one text as a figure: one attention with its words, and every head of every layer as a small
// map, a row for each layer.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "attend/view/figure.h"

namespace attend::view {

struct HeadsRow {
  std::string label;  // "encoder self 1"
  std::size_t heads = 0, rows = 0, columns = 0;
  std::span<const float> weights;       // [heads, rows, columns]
  std::vector<std::string> roles = {};  // what each head does, under its map; empty: not known
};

struct HeadsOptions {
  std::string title = {};
  // The attention that is drawn large, its heads averaged, with its words; none when there are no words.
  std::size_t main = 0;                            // which row
  std::vector<std::string> words = {}, onto = {};  // who looks, and at whom
};

// With a legend of the weights. Throws Error when sizes do not fit.
Figure heads_figure(std::span<const HeadsRow> rows, const HeadsOptions& options);

}  // namespace attend::view
