// What a theme makes of the pixels of a figure.
#pragma once

#include "attend/view/figure.h"

namespace attend::view {

// The image itself, or its weights in the colours of the palette.
image::Image coloured(const FigureTheme& theme, const Figure::Pixels& pixels);

}  // namespace attend::view
