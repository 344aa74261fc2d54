// Images side by side: a grid of them, and where places of each look.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attend/image/image.h"
#include "attend/view/figure.h"

namespace attend::view {

// Row by row; the last row may be shorter.
Figure drawing_grid(std::span<const image::Image> drawings, std::size_t columns);

// A drawing with some places of it, each with weights over a grid of the same drawing.
struct LookingPlaces {
  image::Image drawing;
  std::size_t rows = 0, columns = 0;          // of the grid the places are of
  std::size_t key_rows = 0, key_columns = 0;  // of the grid they look at
  struct Place {
    std::size_t row = 0, column = 0;
    std::vector<float> weights = {};  // [key_rows, key_columns]
  };
  std::vector<Place> places = {};
};
// A line for each: the drawing with its places marked, then what each of them sees, brighter where it looks more.
Figure looking_places(std::span<const LookingPlaces> drawings);

}  // namespace attend::view
