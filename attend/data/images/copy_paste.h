// Things cut out of one image by their masks and pasted into another (Ghiasi et al. 2021, "Simple Copy-Paste is a
// Strong Data Augmentation Method"): where there are few photographs, each of their things is seen in many places.
#pragma once

#include <optional>
#include <vector>

#include "attend/data/images/detection_sets.h"
#include "attend/data/images/object_masks.h"
#include "attend/image/augment.h"
#include "attend/image/image.h"

namespace attend::data {

struct CutOut {
  std::int32_t label = 0;
  image::Image pixels = {};  // of its box
  image::Image inside = {};  // as large; white where the thing is
  double size = 0;           // its height, in parts of the image it is from
};

// None when nothing of it is in the image.
std::optional<CutOut> cut(const image::Image& image, const LabelledBox& box, const ObjectMask& mask);

// An image that things are pasted into, with what is still seen of each.
struct PastedImage {
  image::Image image = {};
  std::vector<LabelledBox> boxes = {};
  std::vector<PixelMask> visible = {};  // of the boxes
};

struct PasteOptions {
  bool flip = true;  // every other thing, at random
  double least_scale = 0.7, most_scale = 1.4;
  // What is covered so that less is left of what was seen of it than this is no object any more.
  double least_visible = 0.25;
};

// As large in this image as it was in its own, times what is drawn, somewhere. Boxes of what it covers shrink to what
// is left, or go.
void paste(const CutOut& thing, const PasteOptions& options, image::Draws& draws, PastedImage& into);

}  // namespace attend::data
