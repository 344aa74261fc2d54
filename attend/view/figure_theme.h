// What a theme makes of the pixels and colours of a figure.
#pragma once

#include "attend/view/figure.h"

namespace attend::view {

// The image itself, or its weights in the colours of the palette.
image::Image coloured(const FigureTheme& theme, const Figure::Pixels& pixels);
// Areas keep their colours on a dark background, lines get lighter; series have colours of their own.
Color color_of(const FigureTheme& theme, const Figure::Rect& rect);
Color color_of(const FigureTheme& theme, const Figure::Curve& curve);

}  // namespace attend::view
