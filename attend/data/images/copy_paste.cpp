#include "attend/data/images/copy_paste.h"

#include <algorithm>
#include <cmath>

#include "attend/image/resize.h"

namespace attend::data {

namespace {

// The smallest box, in parts of the image, around what a mask has; the mask is cut to it.
LabelledBox fitted(std::int32_t label, PixelMask& mask, const image::Image& image) {
  int left = mask.width, top = mask.height, right = 0, bottom = 0;
  for (int y = 0; y < mask.height; ++y)
    for (int x = 0; x < mask.width; ++x)
      if (mask.inside[static_cast<std::size_t>(y * mask.width + x)]) {
        left = std::min(left, x), right = std::max(right, x + 1);
        top = std::min(top, y), bottom = std::max(bottom, y + 1);
      }
  PixelMask part{.left = mask.left + left, .top = mask.top + top, .width = right - left, .height = bottom - top};
  for (int y = top; y < bottom; ++y) {
    const auto row = mask.inside.begin() + y * mask.width;
    part.inside.insert(part.inside.end(), row + left, row + right);
  }
  mask = std::move(part);
  const double width = image.width, height = image.height;
  return {label, mask.left / width, mask.top / height, (mask.left + mask.width) / width,
          (mask.top + mask.height) / height};
}

// What lies under the other; returns how many pixels that were.
std::int64_t cover(PixelMask& under, const PixelMask& over) {
  std::int64_t covered = 0;
  const int left = std::max(under.left, over.left), right = std::min(under.left + under.width, over.left + over.width);
  const int top = std::max(under.top, over.top), bottom = std::min(under.top + under.height, over.top + over.height);
  for (int y = top; y < bottom; ++y)
    for (int x = left; x < right; ++x) {
      std::uint8_t& below = under.inside[static_cast<std::size_t>((y - under.top) * under.width + x - under.left)];
      if (!below || !over.inside[static_cast<std::size_t>((y - over.top) * over.width + x - over.left)]) continue;
      below = 0, ++covered;
    }
  return covered;
}

void cover_others(const PixelMask& over, double least_visible, PastedImage& into) {
  for (std::size_t i = 0; i < into.boxes.size();) {
    PixelMask& mask = into.visible[i];
    const std::int64_t before = mask.area(), covered = cover(mask, over);
    if (covered > 0 && static_cast<double>(before - covered) < least_visible * static_cast<double>(before)) {
      into.boxes.erase(into.boxes.begin() + static_cast<std::ptrdiff_t>(i));
      into.visible.erase(into.visible.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    if (covered > 0) into.boxes[i] = fitted(into.boxes[i].label, mask, into.image);
    ++i;
  }
}

}  // namespace

std::optional<CutOut> cut(const image::Image& image, const LabelledBox& box, const ObjectMask& mask) {
  PixelMask found = mask_in(image.width, image.height, box, mask);
  if (found.area() == 0) return std::nullopt;
  fitted(box.label, found, image);
  CutOut result{.label = box.label,
                .pixels = image::Image(found.width, found.height),
                .inside = image::Image(found.width, found.height),
                .size = static_cast<double>(found.height) / image.height};
  for (int y = 0; y < found.height; ++y) {
    std::copy_n(image.row(found.top + y) + 3 * found.left, 3 * found.width, result.pixels.row(y));
    for (int x = 0; x < 3 * found.width; ++x)
      result.inside.row(y)[x] = found.inside[static_cast<std::size_t>(y * found.width + x / 3)] ? 255 : 0;
  }
  return result;
}

void paste(const CutOut& thing, const PasteOptions& options, image::Draws& draws, PastedImage& into) {
  image::Image& image = into.image;
  const double scale = draws.between(options.least_scale, options.most_scale);
  const bool mirrored = options.flip && draws.chance(0.5);
  const double times = std::min({scale * thing.size * image.height / thing.pixels.height,
                                 static_cast<double>(image.height) / thing.pixels.height,
                                 static_cast<double>(image.width) / thing.pixels.width});
  const auto side = [&](int length, int most) {
    return std::clamp(static_cast<int>(std::lround(times * length)), 1, most);
  };
  const int width = side(thing.pixels.width, image.width), height = side(thing.pixels.height, image.height);
  const int left = draws.below(image.width - width + 1), top = draws.below(image.height - height + 1);
  const image::ResizeOptions smooth{.filter = image::Filter::bilinear};
  const image::Image pixels = image::resize(thing.pixels, width, height, smooth);
  const image::Image inside = image::resize(thing.inside, width, height, smooth);
  PixelMask mask{.left = left, .top = top, .width = width, .height = height};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const int from = 3 * (mirrored ? width - 1 - x : x), share = inside.row(y)[from];
      std::uint8_t* to = image.row(top + y) + 3 * (left + x);
      for (int c = 0; c < 3; ++c)
        to[c] = static_cast<std::uint8_t>((share * pixels.row(y)[from + c] + (255 - share) * to[c] + 127) / 255);
      mask.inside.push_back(share > 127 ? 1 : 0);
    }
  if (mask.area() == 0) return;
  const LabelledBox box = fitted(thing.label, mask, image);
  cover_others(mask, options.least_visible, into);
  into.boxes.push_back(box), into.visible.push_back(std::move(mask));
}

}  // namespace attend::data
