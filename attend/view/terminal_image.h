// An image in the terminal, and beside it where the model looked.
#pragma once

#include <string>

#include "attend/base/terminal.h"
#include "attend/image/image.h"
#include "attend/view/image_heat.h"

namespace attend::view {

// With colour: two pixels a character (half blocks), in 24 bits each. Without: ten shades of plain characters, from
// dark to bright. As wide as the terminal lets two images be, at most 40 columns each; no heat: the image alone.
std::string draw(const image::Image& image, const Heat& heat, const Terminal& terminal);

}  // namespace attend::view
