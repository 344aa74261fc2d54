// Helpers that all image models share.
#include "attend/models/image_model.h"

#include "attend/base/error.h"

namespace attend::models {

float drop_path_of(float rate, std::int64_t layer, std::int64_t layers) {
  return layers > 1 ? rate * static_cast<float>(layer) / static_cast<float>(layers - 1) : rate;
}

nn::Branch drop_path(nn::Branch branch, float rate) {
  // A summed branch already contains the stream, which must not be dropped.
  if (!branch.summed) branch.drop_path = rate;
  return branch;
}

void check_images(const Tensor& pixels, const Extent2& size, std::int64_t channels) {
  check(pixels.rank() == 4 && pixels.dim(1) == size.h && pixels.dim(2) == size.w && pixels.dim(3) == channels,
        "images are {}, but the model reads [B, {}, {}, {}]", pixels.shape(), size.h, size.w, channels);
}

}  // namespace attend::models
