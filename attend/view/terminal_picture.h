// A picture in the terminal, and beside it where the model looked.
#pragma once

#include <string>

#include "attend/base/terminal.h"
#include "attend/image/image.h"
#include "attend/view/picture_heat.h"

namespace attend::view {

// With colour: two pixels a character (half blocks), in 24 bits each. Without: ten shades of plain characters, from
// dark to bright. As wide as the terminal lets two pictures be, at most 40 columns each; no heat: the picture alone.
std::string draw(const image::Image& picture, const Heat& heat, const Terminal& terminal);

}  // namespace attend::view
