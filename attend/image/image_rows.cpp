#include "attend/image/image_rows.h"

#include <algorithm>

namespace attend::image {

Image ImageRows::whole() {
  Image image(width(), height());
  for (int y = 0; y < image.height; ++y) next(image.row(y));
  return image;
}

void KeptRows::next(std::uint8_t* row) {
  if (at_ == 0) image_ = decode();
  std::copy_n(image_.row(at_++), image_.row_bytes(), row);
}

}  // namespace attend::image
