// Affine maps to the nearest pixel. Pillow walks along a row in steps of 2^-16, or, where nothing is turned or sheared,
// in double precision; so do we.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "attend/base/error.h"
#include "attend/image/augment_ops.h"
#include "attend/image/exif.h"
#include "attend/image/resize.h"

namespace attend::image {

namespace {

constexpr int kLargestSide = 32767;  // beyond, positions in 2^-16 would not fit

std::int64_t fixed_point(double value) { return static_cast<std::int64_t>(std::floor(value * 65536.0 + 0.5)); }

Image affine_turned(const Image& image, const std::array<double, 6>& m) {
  Image out(image.width, image.height);
  const std::int64_t x_right = fixed_point(m[0]), x_down = fixed_point(m[1]);
  const std::int64_t y_right = fixed_point(m[3]), y_down = fixed_point(m[4]);
  std::int64_t x_first = fixed_point(m[2] + m[0] * 0.5 + m[1] * 0.5);
  std::int64_t y_first = fixed_point(m[5] + m[3] * 0.5 + m[4] * 0.5);
  for (int y = 0; y < out.height; ++y, x_first += x_down, y_first += y_down) {
    std::uint8_t* to = out.row(y);
    std::int64_t at_x = x_first, at_y = y_first;
    for (int x = 0; x < out.width; ++x, at_x += x_right, at_y += y_right, to += 3) {
      const std::int64_t from_x = at_x >> 16, from_y = at_y >> 16;
      if (from_x < 0 || from_x >= image.width || from_y < 0 || from_y >= image.height) continue;
      const std::uint8_t* from = image.row(static_cast<int>(from_y)) + 3 * from_x;
      to[0] = from[0], to[1] = from[1], to[2] = from[2];
    }
  }
  return out;
}

// -1 beyond the front.
int whole_position(double at) { return at < 0 ? -1 : static_cast<int>(std::min(at, 1e9)); }

Image affine_straight(const Image& image, const std::array<double, 6>& m) {
  Image out(image.width, image.height);
  double at_y = m[5] + m[4] * 0.5;
  for (int y = 0; y < out.height; ++y, at_y += m[4]) {
    const int from_y = whole_position(at_y);
    if (from_y < 0 || from_y >= image.height) continue;
    double at_x = m[2] + m[0] * 0.5;
    std::uint8_t* to = out.row(y);
    for (int x = 0; x < out.width; ++x, at_x += m[0], to += 3) {
      const int from_x = whole_position(at_x);
      if (from_x < 0 || from_x >= image.width) continue;
      const std::uint8_t* from = image.row(from_y) + 3 * from_x;
      to[0] = from[0], to[1] = from[1], to[2] = from[2];
    }
  }
  return out;
}

double to_15_places(double value) { return std::nearbyint(value * 1e15) / 1e15; }

}  // namespace

Image affine(const Image& image, const std::array<double, 6>& matrix) {
  check_image(image, "affine");
  check(image.channels == 3, "affine: an image has 3 channels, not {}", image.channels);
  check(image.width <= kLargestSide && image.height <= kLargestSide, "affine: an image of {} x {} is too large",
        image.width, image.height);
  for (const double value : matrix)
    check(std::abs(value) < 1e6, "affine: a map of {} makes no sense", value);  // nor does NaN
  return matrix[1] == 0 && matrix[3] == 0 ? affine_straight(image, matrix) : affine_turned(image, matrix);
}

Image rotate(const Image& image, double degrees) {
  check_image(image, "rotate");
  check(std::isfinite(degrees), "rotate: by {} degrees makes no sense", degrees);
  degrees = std::fmod(degrees, 360.0);
  if (degrees < 0) degrees += 360;
  if (degrees == 0) return image;
  if (degrees == 180) return upright(image, 3);
  if (image.width == image.height && degrees == 90) return upright(image, 8);
  if (image.width == image.height && degrees == 270) return upright(image, 6);
  const double angle = -degrees * std::numbers::pi / 180;
  const double c = to_15_places(std::cos(angle)), s = to_15_places(std::sin(angle));
  const double x = image.width / 2.0, y = image.height / 2.0;
  return affine(image, {c, s, c * -x + s * -y + x, -s, c, -s * -x + c * -y + y});
}

}  // namespace attend::image
