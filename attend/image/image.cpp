#include "attend/image/image.h"

#include "attend/base/error.h"

namespace attend::image {

void check_image(const Image& image, const char* who) {
  check(image.width > 0 && image.height > 0 && image.channels > 0, "{}: a picture of {} x {} with {} channels is empty",
        who, image.width, image.height, image.channels);
  check(image.pixels.size() == image.row_bytes() * static_cast<std::size_t>(image.height),
        "{}: a picture of {} x {} with {} channels has {} bytes", who, image.width, image.height, image.channels,
        image.pixels.size());
}

}  // namespace attend::image
