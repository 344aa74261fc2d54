// EXIF: which way up a camera was held. The block is a small TIFF file; only tag 0x0112 of its first directory is read.
#pragma once

#include <cstddef>
#include <span>

#include "attend/image/image.h"

namespace attend::image {

// 1 to 8; 1 (upright) when the block is broken or does not say. The block may begin with "Exif\0\0".
int exif_orientation(std::span<const std::byte> block);

// The image turned and mirrored so that it is upright.
Image upright(Image image, int orientation);

}  // namespace attend::image
