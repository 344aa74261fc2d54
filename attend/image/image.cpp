#include "attend/image/image.h"

#include "attend/base/error.h"

namespace attend::image {

void check_extent(std::int64_t width, std::int64_t height, std::int64_t most_pixels, std::string_view who) {
  check(width > 0 && height > 0, "{}: the image is empty: {} x {}", who, width, height);
  check(width <= limits::kLongestSide && height <= limits::kLongestSide,
        "{}: an image of {} x {} is too large: a side has at most {} pixels", who, width, height, limits::kLongestSide);
  check(width <= most_pixels / height,
        "{}: an image of {} x {} is too large: at most {} pixels are read (--max-pixels, max_pixels)", who, width,
        height, most_pixels);
}

void check_image(const Image& image, const char* who) {
  check(image.width > 0 && image.height > 0 && image.channels > 0, "{}: an image of {} x {} with {} channels is empty",
        who, image.width, image.height, image.channels);
  check(image.pixels.size() == image.row_bytes() * static_cast<std::size_t>(image.height),
        "{}: an image of {} x {} with {} channels has {} bytes", who, image.width, image.height, image.channels,
        image.pixels.size());
}

}  // namespace attend::image
