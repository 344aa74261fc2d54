// A figure of pixels, rectangles and words: laid out once, written as SVG or as PNG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/image/image.h"

namespace attend::view {

struct Color {
  std::uint8_t red = 0, green = 0, blue = 0;
};

struct Figure {
  struct Rect {
    double x = 0, y = 0, width = 0, height = 0;
    Color color = {};
    double opacity = 1;
    bool outline = false;  // a thin line around it instead of what is inside
  };
  enum class Anchor : std::uint8_t { start, middle, end };
  struct Text {
    double x = 0, y = 0;  // of the baseline
    std::string text = {};
    double size = 13;
    Anchor anchor = Anchor::start;
    Color color = {34, 34, 34};
    bool bold = false;
    double angle = 0;  // degrees, clockwise, around x and y
  };
  struct Pixels {
    double x = 0, y = 0, width = 0, height = 0;
    image::Image image = {};
  };
  double width = 0, height = 0;
  std::vector<Pixels> pixels = {};  // drawn first, each pixel a block
  std::vector<Rect> rects = {};     // drawn in order, then the texts
  std::vector<Text> texts = {};
};

std::string to_svg(const Figure& figure);
// scale: pixels for one unit. Words are drawn in our own strokes (stroke_font.h).
std::string to_png(const Figure& figure, double scale = 2);

}  // namespace attend::view
