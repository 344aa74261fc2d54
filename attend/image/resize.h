// Resizing as Pillow does it, pixel for pixel: a filter as wide as the image shrinks, whose weights are whole numbers
// in units of 2^-22; first along the rows, rounded to eight bits, then along the columns. torchvision's resize of
// tensors is the same with shorter weights, and up to 1 away from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "attend/image/image.h"
#include "attend/image/image_rows.h"

namespace attend::image {

// With Pillow's numbers, which model files use.
enum class Filter : std::uint8_t { nearest = 0, lanczos = 1, bilinear = 2, bicubic = 3, box = 4, hamming = 5 };

Filter filter_of(std::int64_t number, std::string_view source);       // Pillow's number, from a file
Filter filter_named(std::string_view name, std::string_view source);  // "bicubic"

// A part of an image: [left, right) x [top, bottom).
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
};
struct PixelBox {
  int left = 0, top = 0, right = 0, bottom = 0;
  int width() const { return right - left; }
  int height() const { return bottom - top; }
};

// How long the weights are.
//   pillow       22 bits
//   torchvision  as many as let the largest of an axis fit into 16; only bilinear and bicubic, the others are Pillow's
enum class Precision : std::uint8_t { pillow, torchvision };

struct ResizeOptions {
  Filter filter = Filter::bicubic;
  Precision precision = Precision::pillow;
  std::optional<Box> box = {};          // what is resized; all of the image when not given
  std::optional<PixelBox> window = {};  // what is wanted of the result, as if it were cropped to that afterwards
  double reducing_gap = 0;              // Pillow's: 1 or more averages whole blocks first, faster and less exact
};

Image resize(const Image& image, int width, int height, const ResizeOptions& options = {});
// The same pixels from rows as they come: what is kept is as wide as the result. Without a box and a reducing gap.
Image resize(ImageRows& rows, int width, int height, const ResizeOptions& options = {});

// Averages blocks of so many pixels; those at the right and the bottom may be smaller. Pillow's Image.reduce.
Image reduce(const Image& image, int factor_x, int factor_y, const std::optional<PixelBox>& box = {});

}  // namespace attend::image
