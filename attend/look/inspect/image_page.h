// What was seen of an image as one image, without a browser (view/image_heat.h).
#pragma once

#include <string>
#include <vector>

#include "attend/look/inspect/image.h"
#include "attend/view/image_heat.h"

namespace attend::look {

// The heat that says most: rollout, or, where there is none, the last layer's heads averaged. No weights when the model
// has no attention.
struct TellingHeat {
  std::string title = {};
  Extent2 grid = {0, 0};
  std::vector<float> weights = {};

  view::Heat heat() const { return {static_cast<std::size_t>(grid.h), static_cast<std::size_t>(grid.w), weights}; }
};
TellingHeat telling_heat(const ImageInspection& inspection);

// The image, its labels, that heat, and every head of every layer small.
view::Figure image_page(const ImageInspection& inspection, const std::string& name);

// Rollout alone, beside the image and the last layer. Throws Error where there is none.
view::Figure rollout_page(const ImageInspection& inspection, const std::string& name);

}  // namespace attend::look
