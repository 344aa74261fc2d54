// Images of our own to try a model on: drawn when they are asked for, from a handful of polygons, discs and lines.
#pragma once

#include <span>
#include <string_view>

#include "attend/image/image.h"

namespace attend::look {

struct SampleImage {
  std::string_view name;
  image::Image (*paint)(int size);  // pixels, both ways
};

std::span<const SampleImage> sample_images();
// Null when there is none of that name.
const SampleImage* find_sample(std::string_view name);

}  // namespace attend::look
