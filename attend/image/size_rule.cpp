// Sizes as transformers computes them; where it rounds, so do we, in the same order.
#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/image/preprocessor_config.h"

namespace attend::image {

namespace {

// A number of pixels: at least one, where transformers makes an image of none out of a long thin one; what does not
// fit is refused when the image is made.
int whole(double pixels) { return static_cast<int>(std::clamp(pixels, 1.0, 1e9)); }

// Python's round(): halves go to the even number.
double rounded_to_even(double value) { return std::nearbyint(value); }

PixelSize with_shortest(PixelSize image, int edge) {
  const double shortest = std::min(image.width, image.height), longest = std::max(image.width, image.height);
  const int other = whole(edge * longest / shortest);
  return image.width <= image.height ? PixelSize{edge, other} : PixelSize{other, edge};
}

PixelSize with_shortest_within(PixelSize image, int edge, int most) {
  const double width = image.width, height = image.height;
  const double shortest = std::min(width, height), longest = std::max(width, height);
  double exact = edge;  // of the shortest edge, before it is rounded
  if (longest / shortest * edge > most) {
    exact = most * shortest / longest;
    edge = whole(rounded_to_even(exact));
  }
  if (shortest == edge) return image;
  if (width < height) return {edge, whole(exact * height / width)};
  return {whole(exact * width / height), edge};
}

}  // namespace

PixelSize SizeRule::of(PixelSize image) const {
  check(image.width > 0 && image.height > 0, "an image of {} x {} is empty", image.width, image.height);
  switch (kind) {
    case Kind::as_is:
      return image;
    case Kind::exact:
      return size;
    case Kind::shortest:
      return with_shortest(image, size.width);
    case Kind::shortest_within:
      return with_shortest_within(image, size.width, size.height);
    case Kind::within: {
      const double scale =
          std::min(static_cast<double>(size.height) / image.height, static_cast<double>(size.width) / image.width);
      return {whole(image.width * scale), whole(image.height * scale)};
    }
  }
  return image;
}

}  // namespace attend::image
