// What was seen of a picture as one picture, without a browser (view/picture_heat.h).
#pragma once

#include <string>
#include <vector>

#include "attend/look/inspect/picture.h"
#include "attend/view/picture_heat.h"

namespace attend::look {

// The heat that says most: rollout, or, where there is none, the last layer's heads averaged. No weights when the model
// has no attention.
struct TellingHeat {
  std::string title = {};
  Extent2 grid = {0, 0};
  std::vector<float> weights = {};

  view::Heat heat() const { return {static_cast<std::size_t>(grid.h), static_cast<std::size_t>(grid.w), weights}; }
};
TellingHeat telling_heat(const PictureInspection& inspection);

// The picture, its labels, that heat, and every head of every layer small.
view::Picture picture_page(const PictureInspection& inspection, const std::string& name);

}  // namespace attend::look
