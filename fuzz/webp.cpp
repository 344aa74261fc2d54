// Any bytes as a WebP.
#include "fuzz/shared/image_target.h"

namespace attend::fuzz {

const Target kTarget = {.file = "image.webp"};

void enter(const Input& input) { enter_image(input.first().bytes); }

}  // namespace attend::fuzz
