#include "attend/train/recipes/images/test_time_views.h"

#include <algorithm>
#include <cstddef>

#include "attend/base/error.h"

namespace attend::train {

namespace {

// Where a pixel outside [0, size) is inside, by reflection at the first and at the last one.
std::int64_t reflected(std::int64_t at, std::int64_t size) {
  if (at < 0) return -at;
  return at < size ? at : 2 * (size - 1) - at;
}

}  // namespace

std::vector<float> mirrored(std::span<const float> images, Extent2 size, std::int64_t channels) {
  std::vector<float> result(images.size());
  const auto pixel = static_cast<std::size_t>(channels), row = static_cast<std::size_t>(size.w) * pixel;
  for (std::size_t at = 0; at < images.size(); at += row)
    for (std::size_t x = 0; x < row; x += pixel)
      std::copy_n(images.data() + at + x, pixel, result.data() + at + row - pixel - x);
  return result;
}

std::vector<float> moved(std::span<const float> images, Extent2 size, std::int64_t channels, Extent2 by) {
  check(std::max(by.h, -by.h) < size.h && std::max(by.w, -by.w) < size.w,
        "images of {} x {} cannot be moved by {} and {} pixels", size.h, size.w, by.h, by.w);
  std::vector<float> result(images.size());
  const auto pixel = static_cast<std::size_t>(channels), row = static_cast<std::size_t>(size.w) * pixel;
  const std::size_t image = row * static_cast<std::size_t>(size.h);
  auto to = result.begin();
  for (std::size_t at = 0; at < images.size(); at += image)
    for (std::int64_t y = 0; y < size.h; ++y)
      for (std::int64_t x = 0; x < size.w; ++x) {
        const std::size_t from = at + static_cast<std::size_t>(reflected(y + by.h, size.h)) * row +
                                 static_cast<std::size_t>(reflected(x + by.w, size.w)) * pixel;
        to = std::copy_n(images.data() + from, pixel, to);
      }
  return result;
}

std::vector<float> mean_over_views(const std::vector<float>& images, Extent2 size, std::int64_t channels,
                                   const TestTimeOptions& options,
                                   const std::function<std::vector<float>(const std::vector<float>&)>& scores) {
  std::vector<float> mean;
  const auto add = [&](const std::vector<float>& view, float weight) {
    const std::vector<float> found = scores(view);
    mean.resize(found.size());
    for (std::size_t i = 0; i < found.size(); ++i) mean[i] += weight * found[i];
  };
  const auto add_both = [&](const std::vector<float>& view, float weight) {
    if (!options.flip) return add(view, weight);
    add(view, weight / 2);
    add(mirrored(view, size, channels), weight / 2);
  };
  add_both(images, options.shift ? 0.5f : 1.0f);
  if (!options.shift) return mean;
  for (const std::int64_t by : {-options.shift, options.shift})
    add_both(moved(images, size, channels, {by, by}), 0.25f);
  return mean;
}

}  // namespace attend::train
