// Any bytes as a JPEG.
#include "fuzz/shared/image_door.h"

namespace attend::fuzz {

const Door kDoor = {.file = "image.jpg"};

void enter(const Input& input) { enter_image(input.first().bytes); }

}  // namespace attend::fuzz
