// Cutting images out of images.
#pragma once

#include <cstdint>

#include "attend/image/image.h"
#include "attend/image/resize.h"

namespace attend::image {

// The box may reach beyond the image; what is there is black.
Image crop(const Image& image, const PixelBox& box);

// Where the middle begins when what is left over (or, below 0, missing) is odd: how half of it is rounded.
//   down         transformers with its backend "pil"
//   toward_zero  transformers with its backend "torchvision"
//   to_even      torchvision itself, and so timm; what is missing is rounded toward zero
enum class Centre : std::uint8_t { down, toward_zero, to_even };
PixelBox centre_box(int width, int height, int crop_width, int crop_height, Centre centre);

}  // namespace attend::image
