// Sizes as transformers computes them; where it rounds, so do we, in the same order.
#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/image/preprocessor_config.h"

namespace attend::image {

namespace {

// A number of pixels: at least one, where transformers makes a picture of none out of a long thin one; what does not
// fit is refused when the picture is made.
int whole(double pixels) { return static_cast<int>(std::clamp(pixels, 1.0, 1e9)); }

// Python's round(): halves go to the even number.
double rounded_to_even(double value) { return std::nearbyint(value); }

PixelSize with_shortest(PixelSize picture, int edge) {
  const double shortest = std::min(picture.width, picture.height), longest = std::max(picture.width, picture.height);
  const int other = whole(edge * longest / shortest);
  return picture.width <= picture.height ? PixelSize{edge, other} : PixelSize{other, edge};
}

PixelSize with_shortest_within(PixelSize picture, int edge, int most) {
  const double width = picture.width, height = picture.height;
  const double shortest = std::min(width, height), longest = std::max(width, height);
  double exact = edge;  // of the shortest edge, before it is rounded
  if (longest / shortest * edge > most) {
    exact = most * shortest / longest;
    edge = whole(rounded_to_even(exact));
  }
  if (shortest == edge) return picture;
  if (width < height) return {edge, whole(exact * height / width)};
  return {whole(exact * width / height), edge};
}

}  // namespace

PixelSize SizeRule::of(PixelSize picture) const {
  check(picture.width > 0 && picture.height > 0, "a picture of {} x {} is empty", picture.width, picture.height);
  switch (kind) {
    case Kind::as_is:
      return picture;
    case Kind::exact:
      return size;
    case Kind::shortest:
      return with_shortest(picture, size.width);
    case Kind::shortest_within:
      return with_shortest_within(picture, size.width, size.height);
    case Kind::within: {
      const double scale =
          std::min(static_cast<double>(size.height) / picture.height, static_cast<double>(size.width) / picture.width);
      return {whole(picture.width * scale), whole(picture.height * scale)};
    }
  }
  return picture;
}

}  // namespace attend::image
