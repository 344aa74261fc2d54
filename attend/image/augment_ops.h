// What augmentation does to an image, one operation each, as Pillow's ImageEnhance, ImageOps and Image do it: pure
// functions, with nothing random in them (augment.h draws). RGB only.
#pragma once

#include <array>
#include <cstdint>

#include "attend/image/image.h"

namespace attend::image {

Image flip_horizontal(const Image& image);

// Towards black, grey, the mean grey or a blurred image (factor 0), or away from it (above 1); 1 leaves it as it is.
Image adjust_brightness(const Image& image, double factor);
Image adjust_color(const Image& image, double factor);
Image adjust_contrast(const Image& image, double factor);
Image adjust_sharpness(const Image& image, double factor);

Image posterize(const Image& image, int bits);      // keeps so many of the highest bits, 0 to 8
Image solarize(const Image& image, int threshold);  // inverts what is at or above it
Image invert(const Image& image);
Image auto_contrast(const Image& image);  // each channel from 0 to 255
Image equalize(const Image& image);       // each channel's values equally often

// The pixel (x, y) of the result is the nearest one to (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]); beyond the
// image it is black. Image.transform with AFFINE and NEAREST.
Image affine(const Image& image, const std::array<double, 6>& matrix);
// Around the middle, by degrees against the clock.
Image rotate(const Image& image, double degrees);

// Grey as ITU-R 601-2 has it: 0.299 red + 0.587 green + 0.114 blue.
inline int grey_of(const std::uint8_t* rgb) {
  return static_cast<int>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

}  // namespace attend::image
