// Every head of every layer as one picture: small maps in rows, a row for each layer. One file that needs nothing else.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace attend::view {

struct HeadsRow {
  std::string label;  // "encoder self 1"
  std::size_t heads = 0, rows = 0, columns = 0;
  std::span<const float> weights;  // [heads, rows, columns]
};

// The darker a cell, the more weight; reads in grey and to colour-blind eyes.
std::string heads_svg(const std::string& title, std::span<const HeadsRow> rows);

}  // namespace attend::view
