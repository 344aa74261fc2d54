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

// Things for a classifier, dogs for a captioner, scenes for a detector. A name that begins with "fooled" shows a
// mistake.
enum class SampleKind { objects, dogs, scenes };
std::span<const SampleImage> sample_images(SampleKind kind);

}  // namespace attend::look
