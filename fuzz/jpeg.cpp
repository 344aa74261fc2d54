// Any bytes as a JPEG.
#include "fuzz/shared/image_door.h"

namespace attend::fuzz {

const Door kDoor = {.file = "image.jpg"};

void enter(const Input& input) {
  enter_image(input.first().bytes);
  attempt([&] { image::read_image(write("image", input.first().bytes), {.most_pixels = 1 << 18}); });
}

}  // namespace attend::fuzz
