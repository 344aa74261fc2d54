// The figure of Bahdanau et al. 2015 (figure 3): words of the source across, words of the target down, and how much
// each of the latter looked at each of the former as the darkness of a cell. One file that needs nothing else.
#pragma once

#include <string>
#include <string_view>

#include "attend/view/attention_map.h"

namespace attend::view {

struct SvgOptions {
  std::string source, target;  // the sentences over the figure; left out when empty
  double cell = 30;            // side of a cell, in pixels
};

// Light to dark blue: darkness grows with weight, so the figure reads in grey and to colour-blind eyes. Hovering over a
// cell shows its words and its weight.
std::string attention_svg(const AttentionMap& map, const SvgOptions& options = {});

// text with what XML keeps for itself (& < > " ') escaped and what it cannot hold replaced.
std::string xml_escaped(std::string_view text);

}  // namespace attend::view
