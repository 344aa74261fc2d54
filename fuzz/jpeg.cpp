// Any bytes as a JPEG.
#include "fuzz/shared/image_target.h"

namespace attend::fuzz {

const Target kTarget = {.file = "image.jpg"};

void enter(const Input& input) {
  enter_image(input.first().bytes);
  attempt([&] { image::read_image(write("image", input.first().bytes), {.most_pixels = 1 << 18}); });
}

}  // namespace attend::fuzz
