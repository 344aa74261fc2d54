// A figure of pixels, rectangles and words: laid out once, written as SVG or as PNG.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "attend/image/image.h"

namespace attend::view {

struct Color {
  std::uint8_t red = 0, green = 0, blue = 0;
};

// How weights become colours, and what is behind them.
enum class Palette : std::uint8_t { blue, viridis, magma, grey };
struct FigureTheme {
  bool dark = false;
  Palette palette = Palette::blue;
};
// 0 to 1. Every palette is monotonic in lightness, so that it reads in grey and to colour-blind eyes.
Color weight_color(const FigureTheme& theme, double weight);
// The colour of one of several things side by side, such as the heads of a layer: apart in hue, or along the palette.
Color series_color(const FigureTheme& theme, int which, int count);
// A colour of words and lines on that background: greys are inverted on a dark one, others get lighter.
Color themed(const FigureTheme& theme, const Color& color);
Color background(const FigureTheme& theme);
// Throws Error for a name that is none.
Palette palette_named(const std::string& name);
std::vector<std::string> palette_names();

struct Figure {
  // Which of several things side by side: its colour is series_color(). Of none: the colour that stands beside it.
  struct Series {
    int which = 0, count = 0;
  };
  struct Rect {
    double x = 0, y = 0, width = 0, height = 0;
    Color color = {};
    double opacity = 1;
    bool outline = false;  // a thin line around it instead of what is inside
    double weight = -1;    // of attention, in the colour of the palette; below 0: color
    Series series = {};
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
    bool heat = false;  // red is a weight, 255 for 1, in the colour of the palette
  };
  // A line through many points, with round ends.
  struct Curve {
    std::vector<std::pair<double, double>> points = {};
    double width = 1;
    Color color = {};
    double opacity = 1;
    Series series = {};
  };
  double width = 0, height = 0;
  std::vector<Pixels> pixels = {};  // drawn first, each pixel a block
  std::vector<Rect> rects = {};     // drawn in order, then the curves and the texts
  std::vector<Curve> curves = {};
  std::vector<Text> texts = {};
  FigureTheme theme = {};
};

// scale: units for one of the figure's.
std::string to_svg(const Figure& figure, double scale = 1);
// scale: pixels for one unit. Words are drawn in our own strokes (stroke_font.h).
std::string to_png(const Figure& figure, double scale = 2);

}  // namespace attend::view
