// Cutting images out of images.
#pragma once

#include <cstdint>

#include "attend/image/image.h"
#include "attend/image/resize.h"

namespace attend::image {

// What a box that reaches beyond an image gets there: black, or the pixels in front of the edge in reverse order, which
// itself is not repeated (as in numpy.pad).
enum class Border : std::uint8_t { black, reflected };
Image crop(const Image& image, const PixelBox& box, Border border = Border::black);

// Where the middle begins when what is left over (or, below 0, missing) is odd: how half of it is rounded.
//   down         transformers with its backend "pil"
//   toward_zero  transformers with its backend "torchvision"
//   to_even      torchvision itself, and so timm; what is missing is rounded toward zero
enum class Centre : std::uint8_t { down, toward_zero, to_even };
PixelBox centre_box(int width, int height, int crop_width, int crop_height, Centre centre);

}  // namespace attend::image
