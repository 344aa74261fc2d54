// Small figures side by side, each under its title: where a model looked for each word (Xu et al. 2015), or for each
// thing it found (Carion et al. 2020). As a figure, and in a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attend/base/terminal.h"
#include "attend/image/image.h"
#include "attend/view/figure.h"

namespace attend::view {

struct Tile {
  std::string title;
  image::Image image;
};

struct TilesOptions {
  std::string title = {};  // over all of them; empty: none
  std::size_t across = 5;
  double width = 144;  // of a tile
};

// All are as high as the first. Throws Error when there are none.
Figure tiles_figure(const std::vector<Tile>& tiles, const TilesOptions& options);

// As many side by side as fit. With colour two pixels a character (half blocks), without it shades of plain characters.
std::string draw(const std::vector<Tile>& tiles, const Terminal& terminal);

}  // namespace attend::view
