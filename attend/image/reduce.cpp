// The mean of blocks of pixels. Pillow multiplies the sum by the rounded inverse of the count; so do we.
#include <algorithm>

#include "attend/base/error.h"
#include "attend/image/resize.h"

namespace attend::image {

namespace {

std::uint8_t mean_of(const Image& image, const PixelBox& block, int channel) {
  const auto count = static_cast<std::uint32_t>(block.width() * block.height());
  std::uint32_t sum = count / 2;
  for (int y = block.top; y < block.bottom; ++y)
    for (int x = block.left; x < block.right; ++x) sum += image.row(y)[x * image.channels + channel];
  const auto inverse = static_cast<std::uint32_t>(4294967296.0 / (256.0 * count));  // 2^24 / count
  return static_cast<std::uint8_t>(sum * inverse >> 24);
}

}  // namespace

Image reduce(const Image& image, int factor_x, int factor_y, const std::optional<PixelBox>& box) {
  check_image(image, "reduce");
  check(factor_x >= 1 && factor_y >= 1 && factor_x <= (1 << 24) / factor_y, "reduce: cannot reduce by {} x {}",
        factor_x, factor_y);
  const PixelBox all = box.value_or(PixelBox{0, 0, image.width, image.height});
  check(all.left >= 0 && all.top >= 0 && all.right <= image.width && all.bottom <= image.height && all.width() > 0 &&
            all.height() > 0,
        "reduce: the box {}, {}, {}, {} does not lie in an image of {} x {}", all.left, all.top, all.right, all.bottom,
        image.width, image.height);
  Image out((all.width() + factor_x - 1) / factor_x, (all.height() + factor_y - 1) / factor_y, image.channels);
  for (int y = 0; y < out.height; ++y)
    for (int x = 0; x < out.width; ++x) {
      const int left = all.left + x * factor_x, top = all.top + y * factor_y;
      const PixelBox block = {left, top, std::min(all.right, left + factor_x), std::min(all.bottom, top + factor_y)};
      for (int c = 0; c < image.channels; ++c) out.row(y)[x * image.channels + c] = mean_of(image, block, c);
    }
  return out;
}

}  // namespace attend::image
