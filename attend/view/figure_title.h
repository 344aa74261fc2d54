// Titles that are never cut, and the legend of the weights: parts that several figures share.
#pragma once

#include <string>
#include <string_view>

#include "attend/view/figure.h"

namespace attend::view {

// The room that text takes: as the pen writes it, and no less than a browser's letters are likely to need.
double room_of(std::string_view text, double size);

struct TitlePlace {
  double x = 18, width = 600;  // room for a line; a longer title gets more lines
  double top = 14, size = 16;
};
// Returns where the last line ends below; 14 without a title.
double add_title(Figure& figure, std::string_view title, const TitlePlace& place);

// "0 [colours] 1, attention weight" from x on; returns where it ends below.
double add_legend(Figure& figure, double x, double y);

struct FigureStyle {
  double width = 0;      // of the result, in pixels; 0: as it comes
  double font_size = 0;  // of its words, in pixels of the result; 0: as it comes
  FigureTheme theme = {};
  std::string title = {};  // instead of its own
};
// Sets the theme. With both sizes, words get theirs and the figure grows where they need it; with one, all of the
// figure is scaled.
Figure styled(Figure figure, const FigureStyle& style);
// Pixels for one unit of the figure: what the style asks for, or that many.
double scale_of(const Figure& figure, const FigureStyle& style, double otherwise);

}  // namespace attend::view
