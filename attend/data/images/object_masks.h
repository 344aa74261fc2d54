// Which pixels of an image are an object's: polygons of COCO's files, or a number in an image of masks
// (Penn-Fudan's).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attend::data {

struct LabelledBox;

struct ObjectMask {
  std::vector<std::vector<float>> polygons = {};  // x and y in turn, in parts of the image
  std::string file = {};                          // of masks, as large as the image
  int number = 0;                                 // what pixels of the object are there

  bool known() const { return !polygons.empty() || number > 0; }
};

// Some of the pixels inside of a box of an image, row by row.
struct PixelMask {
  int left = 0, top = 0, width = 0, height = 0;
  std::vector<std::uint8_t> inside = {};  // 0 or 1

  std::int64_t area() const;
};

// Of an object in an image of this size; where nothing is known of it, all of its box. Throws Error when the file of
// masks cannot be read.
PixelMask mask_in(int width, int height, const LabelledBox& box, const ObjectMask& mask);

}  // namespace attend::data
