// Letters as strokes of a pen, for images without a browser: Latin with its usual accents, digits, punctuation. What
// it does not have is drawn as an empty box.
#pragma once

#include <string_view>
#include <vector>

namespace attend::view {

struct Point {
  double x = 0, y = 0;
};
using Stroke = std::vector<Point>;  // a broken line; a single point is a dot

// text along the x axis from 0, its baseline at y = 0, y growing downwards as in images.
struct StrokedText {
  std::vector<Stroke> strokes;
  double width = 0;
};
StrokedText stroked(std::string_view text, double size);

}  // namespace attend::view
