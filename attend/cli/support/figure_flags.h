// --title, --width, --font-size, --dark and --palette: how a figure looks in a slide or a paper.
#pragma once

#include <string>

#include "attend/view/figure_title.h"

namespace attend::cli {

class Flags;

struct FigureFlags {
  std::string title = {};
  double width = 0, font_size = 0;
  bool dark = false;
  std::string palette = "blue";
};
void add_figure_flags(Flags& flags, FigureFlags& figure);

// The files, in that style. pixels: for one unit of the figure, where the flags do not say.
std::string png_of(const view::Figure& figure, const FigureFlags& flags, double pixels = 2);
std::string svg_of(const view::Figure& figure, const FigureFlags& flags);

}  // namespace attend::cli
