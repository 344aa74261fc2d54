#include "attend/image/crop.h"

#include <algorithm>
#include <cstring>

#include "attend/base/error.h"

namespace attend::image {

namespace {

int centre_start(int size, int crop, Centre centre) {
  const int over = size - crop;
  if (centre == Centre::down && over < 0) return -((1 - over) / 2);
  if (centre == Centre::to_even && over > 0 && over % 4 == 3) return over / 2 + 1;
  return over / 2;
}

}  // namespace

PixelBox centre_box(int width, int height, int crop_width, int crop_height, Centre centre) {
  const int left = centre_start(width, crop_width, centre), top = centre_start(height, crop_height, centre);
  return {left, top, left + crop_width, top + crop_height};
}

namespace {

// Which of `size` pixels lies at a place up to size - 1 outside of them.
int reflected(int at, int size) { return at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at; }

Image reflected_part(const Image& image, const PixelBox& box) {
  check(box.left > -image.width && box.top > -image.height && box.right < 2 * image.width &&
            box.bottom < 2 * image.height,
        "crop: an image of {} x {} reflected is too small for the box {}, {}, {}, {}", image.width, image.height,
        box.left, box.top, box.right, box.bottom);
  Image out(box.width(), box.height(), image.channels);
  const auto channels = static_cast<std::size_t>(image.channels);
  for (int y = 0; y < out.height; ++y) {
    const std::uint8_t* from = image.row(reflected(box.top + y, image.height));
    for (int x = 0; x < out.width; ++x)
      std::memcpy(out.row(y) + static_cast<std::size_t>(x) * channels,
                  from + static_cast<std::size_t>(reflected(box.left + x, image.width)) * channels, channels);
  }
  return out;
}

}  // namespace

Image crop(const Image& image, const PixelBox& box, Border border) {
  check_image(image, "crop");
  check(box.width() > 0 && box.height() > 0 && box.width() <= kMostPixels / box.height(),
        "crop: cannot cut out {} x {} pixels", box.width(), box.height());
  if (border == Border::reflected) return reflected_part(image, box);
  Image out(box.width(), box.height(), image.channels);
  const int left = std::max(0, box.left), right = std::min(image.width, box.right);
  if (left >= right) return out;
  const auto channels = static_cast<std::size_t>(image.channels);
  for (int y = std::max(0, box.top); y < std::min(image.height, box.bottom); ++y)
    std::memcpy(out.row(y - box.top) + static_cast<std::size_t>(left - box.left) * channels,
                image.row(y) + static_cast<std::size_t>(left) * channels,
                static_cast<std::size_t>(right - left) * channels);
  return out;
}

}  // namespace attend::image
