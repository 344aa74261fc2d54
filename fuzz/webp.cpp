// Any bytes as a WebP.
#include "fuzz/shared/image_door.h"

namespace attend::fuzz {

const Door kDoor = {.file = "image.webp"};

void enter(const Input& input) { enter_image(input.first().bytes); }

}  // namespace attend::fuzz
