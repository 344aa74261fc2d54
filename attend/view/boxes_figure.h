// An image with boxes around what was found in it: for SVG and PNG with words, for a terminal as pixels.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attend/image/image.h"
#include "attend/view/figure.h"

namespace attend::view {

// In pixels of the image; may reach beyond it.
struct NamedBox {
  double x = 0, y = 0, width = 0, height = 0;
  std::string name = {};
  std::size_t kind = 0;  // those of one kind have one colour
};

Figure boxes_figure(const image::Image& image, const std::vector<NamedBox>& boxes);
// As wide as asked, so that outlines are seen when two pixels are one character.
image::Image with_outlines(const image::Image& image, const std::vector<NamedBox>& boxes, int width);

}  // namespace attend::view
