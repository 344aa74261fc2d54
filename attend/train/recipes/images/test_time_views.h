// Test-time augmentation: other views of an image whose scores are averaged with its own. Its mirror image, and crops
// of the image with a reflected border (Jordan 2024, section 3.5: an image, moved up and left, and down and right, each
// with its mirror image, are six views).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attend/tensor/images.h"

namespace attend::train {

struct TestTimeOptions {
  bool flip = false;
  std::int64_t shift = 0;  // how far crops are moved, in pixels; 0: none
};

// Images [n, H, W, channels] with left and right exchanged.
std::vector<float> mirrored(std::span<const float> images, Extent2 size, std::int64_t channels);
// Images whose first pixel is so far down and right in theirs. Outside, they are reflected at the pixels of the border.
std::vector<float> moved(std::span<const float> images, Extent2 size, std::int64_t channels, Extent2 by);

// The weighted mean of what scores() says of the views: half of it is of the image where it is, half of the crops.
std::vector<float> mean_over_views(const std::vector<float>& images, Extent2 size, std::int64_t channels,
                                   const TestTimeOptions& options,
                                   const std::function<std::vector<float>(const std::vector<float>&)>& scores);

}  // namespace attend::train
