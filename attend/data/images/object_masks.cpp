#include "attend/data/images/object_masks.h"

#include <algorithm>
#include <cmath>

#include "attend/data/images/detection_sets.h"
#include "attend/image/decode.h"

namespace attend::data {

namespace {

// Whether a point is inside of polygons, by how many of their edges lie to its right.
bool within(const std::vector<std::vector<float>>& polygons, double x, double y) {
  bool inside = false;
  for (const std::vector<float>& polygon : polygons) {
    const std::size_t count = polygon.size() / 2;
    for (std::size_t i = 0, last = count - 1; i < count; last = i++) {
      const auto x1 = static_cast<double>(polygon[2 * i]), y1 = static_cast<double>(polygon[2 * i + 1]);
      const auto x2 = static_cast<double>(polygon[2 * last]), y2 = static_cast<double>(polygon[2 * last + 1]);
      if ((y1 > y) != (y2 > y) && x < x1 + (y - y1) / (y2 - y1) * (x2 - x1)) inside = !inside;
    }
  }
  return inside;
}

}  // namespace

std::int64_t PixelMask::area() const { return std::ranges::count(inside, std::uint8_t{1}); }

PixelMask mask_in(int width, int height, const LabelledBox& box, const ObjectMask& mask) {
  const auto edge = [](double part, int whole, auto round) {
    return std::clamp(static_cast<int>(round(part * whole)), 0, whole);
  };
  const auto floor = [](double x) { return std::floor(x + 1e-6); };
  const auto ceil = [](double x) { return std::ceil(x - 1e-6); };
  PixelMask result{.left = edge(box.left, width, floor), .top = edge(box.top, height, floor)};
  result.width = edge(box.right, width, ceil) - result.left,
  result.height = edge(box.bottom, height, ceil) - result.top;
  result.inside.assign(static_cast<std::size_t>(result.width) * static_cast<std::size_t>(result.height), 1);
  if (!mask.known()) return result;
  const image::Image drawn = mask.number > 0 ? image::read_image(mask.file) : image::Image();
  for (int y = 0; y < result.height; ++y)
    for (int x = 0; x < result.width; ++x) {
      const double across = (result.left + x + 0.5) / width, down = (result.top + y + 0.5) / height;
      const bool inside =
          mask.number > 0
              ? drawn.row(static_cast<int>(down * drawn.height))[3 * static_cast<int>(across * drawn.width)] ==
                    mask.number
              : within(mask.polygons, across, down);
      result
          .inside[static_cast<std::size_t>(y) * static_cast<std::size_t>(result.width) + static_cast<std::size_t>(x)] =
          inside ? 1 : 0;
    }
  return result;
}

}  // namespace attend::data
