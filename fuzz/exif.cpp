// Any bytes as an EXIF block: whatever it says, an image is turned to one of eight ways up and loses no pixel.
#include "attend/image/exif.h"

#include <algorithm>

#include "fuzz/shared/target.h"

namespace attend::fuzz {

const Target kTarget = {.file = "block.exif"};

void enter(const Input& input) {
  const int orientation = image::exif_orientation(std::as_bytes(std::span(input.first().bytes)));
  must(orientation >= 1 && orientation <= 8, "there are eight ways up");
  image::Image image(5, 3);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(i);
  image::Image turned = image::upright(image, orientation);
  must(turned.width * turned.height == 15 && (turned.width == 5) == (orientation < 5), "sides are kept, or swapped");
  std::ranges::sort(turned.pixels);
  must(turned.pixels == image.pixels, "every pixel is there");
}

}  // namespace attend::fuzz
