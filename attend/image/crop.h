// Cutting pictures out of pictures.
#pragma once

#include <cstdint>

#include "attend/image/image.h"
#include "attend/image/resize.h"

namespace attend::image {

// The box may reach beyond the picture; what is there is black.
Image crop(const Image& image, const PixelBox& box);

// Where the middle begins when what is left over, or missing, is odd.
//   transformers  the smaller half goes to the left and the top of what is cut away
//   torchvision   cut away: half, rounded to even; missing: the smaller half is added at the left and the top
enum class Centre : std::uint8_t { transformers, torchvision };
PixelBox centre_box(int width, int height, int crop_width, int crop_height, Centre centre);

}  // namespace attend::image
