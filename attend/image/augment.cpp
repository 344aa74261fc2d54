#include "attend/image/augment.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "attend/base/error.h"
#include "attend/image/augment_ops.h"
#include "attend/image/crop.h"

namespace attend::image {

double Draws::normal() {  // Box and Muller's
  const double radius = std::sqrt(-2 * std::log(1 - unit()));
  return radius * std::cos(2 * std::numbers::pi * unit());
}

// Marsaglia and Tsang 2000.
double Draws::gamma(double shape) {
  if (shape < 1) {
    const double larger = gamma(shape + 1);
    return larger * std::pow(1 - unit(), 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - unit()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

double Draws::beta(double alpha) {
  check(alpha > 0 && std::isfinite(alpha), "beta: alpha is above 0, not {}", alpha);
  if (alpha == 1) return unit();
  const double a = gamma(alpha), b = gamma(alpha);
  return a + b > 0 ? a / (a + b) : 0.5;
}

PixelBox random_part(int width, int height, const ResizedCrop& options, Draws& draws) {
  const double area = static_cast<double>(width) * height;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * draws.between(options.least_area, options.most_area);
    const double ratio = std::exp(draws.between(std::log(options.least_ratio), std::log(options.most_ratio)));
    const int w = static_cast<int>(std::nearbyint(std::sqrt(target * ratio)));
    const int h = static_cast<int>(std::nearbyint(std::sqrt(target / ratio)));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    const int top = draws.below(height - h + 1), left = draws.below(width - w + 1);
    return {left, top, left + w, top + h};
  }
  // None fitted: the middle, as near to the shapes as the picture allows.
  const double shape = static_cast<double>(width) / height;
  int w = width, h = height;
  if (shape < options.least_ratio) h = static_cast<int>(std::nearbyint(w / options.least_ratio));
  if (shape > options.most_ratio) w = static_cast<int>(std::nearbyint(h * options.most_ratio));
  w = std::clamp(w, 1, width), h = std::clamp(h, 1, height);
  const int left = (width - w) / 2, top = (height - h) / 2;
  return {left, top, left + w, top + h};
}

Image random_resized_crop(const Image& image, int width, int height, const ResizedCrop& options, Draws& draws) {
  check_image(image, "crop");
  const Image part = crop(image, random_part(image.width, image.height, options, draws));
  return resize(part, width, height, {.filter = options.filter});
}

Image random_shift(const Image& image, int padding, Draws& draws) {
  check(padding >= 0, "shift: by {} pixels makes no sense", padding);
  const int left = draws.below(2 * padding + 1) - padding, top = draws.below(2 * padding + 1) - padding;
  return crop(image, {left, top, left + image.width, top + image.height});
}

Image random_flip(const Image& image, Draws& draws, double probability) {
  return draws.chance(probability) ? flip_horizontal(image) : image;
}

namespace {

enum class Operation : std::uint8_t {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  auto_contrast,
  equalize,
};
constexpr int kOperations = 14;

// strength: 0 to 1, how far along its range an operation goes; sign: -1 or 1, for those that have two directions.
Image applied(const Image& image, Operation operation, double strength, double sign) {
  const double factor = 1 + sign * 0.9 * strength;
  const auto pixels = [&](int side) {
    return static_cast<double>(static_cast<int>(sign * strength * 150.0 / 331 * side));
  };
  switch (operation) {
    case Operation::identity:
      return image;
    case Operation::shear_x:
      return affine(image, {1, sign * 0.3 * strength, 0, 0, 1, 0});
    case Operation::shear_y:
      return affine(image, {1, 0, 0, sign * 0.3 * strength, 1, 0});
    case Operation::translate_x:
      return affine(image, {1, 0, -pixels(image.width), 0, 1, 0});
    case Operation::translate_y:
      return affine(image, {1, 0, 0, 0, 1, -pixels(image.height)});
    case Operation::rotate:
      return rotate(image, sign * 30 * strength);
    case Operation::brightness:
      return adjust_brightness(image, factor);
    case Operation::color:
      return adjust_color(image, factor);
    case Operation::contrast:
      return adjust_contrast(image, factor);
    case Operation::sharpness:
      return adjust_sharpness(image, factor);
    case Operation::posterize:
      return posterize(image, 8 - static_cast<int>(std::nearbyint(4 * strength)));
    case Operation::solarize:
      return solarize(image, static_cast<int>(std::ceil(255 * (1 - strength))));
    case Operation::auto_contrast:
      return auto_contrast(image);
    case Operation::equalize:
      return equalize(image);
  }
  return image;
}

}  // namespace

Image rand_augment(Image image, const RandAugment& options, Draws& draws) {
  check(options.operations >= 0 && options.bins > 1 && options.magnitude >= 0 && options.magnitude < options.bins,
        "rand_augment: the magnitude {} is one of {} bins, from 0", options.magnitude, options.bins);
  const double strength = static_cast<double>(options.magnitude) / (options.bins - 1);
  for (int i = 0; i < options.operations; ++i) {
    const auto operation = static_cast<Operation>(draws.below(kOperations));
    const double sign = draws.chance(0.5) ? -1 : 1;
    image = applied(image, operation, strength, sign);
  }
  return image;
}

std::optional<PixelBox> random_erasing(int width, int height, const Erasing& options, Draws& draws) {
  if (!draws.chance(options.probability)) return std::nullopt;
  const double area = static_cast<double>(width) * height;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * draws.between(options.least_area, options.most_area);
    const double ratio = std::exp(draws.between(std::log(options.least_ratio), std::log(options.most_ratio)));
    const int h = static_cast<int>(std::nearbyint(std::sqrt(target * ratio)));
    const int w = static_cast<int>(std::nearbyint(std::sqrt(target / ratio)));
    if (h < 1 || w < 1 || h >= height || w >= width) continue;
    const int top = draws.below(height - h + 1), left = draws.below(width - w + 1);
    return PixelBox{left, top, left + w, top + h};
  }
  return std::nullopt;
}

void erase(std::span<float> values, int width, int height, const PixelBox& box) {
  check(box.left >= 0 && box.top >= 0 && box.right <= width && box.bottom <= height && box.width() >= 0,
        "erase: the box {}, {}, {}, {} does not lie in a picture of {} x {}", box.left, box.top, box.right, box.bottom,
        width, height);
  const std::size_t row = static_cast<std::size_t>(width), plane = row * static_cast<std::size_t>(height);
  for (std::size_t p = 0; p + plane <= values.size(); p += plane)
    for (int y = box.top; y < box.bottom; ++y)
      std::fill_n(values.data() + p + static_cast<std::size_t>(y) * row + static_cast<std::size_t>(box.left),
                  box.width(), 0.0f);
}

namespace {

// change(own, other, size) for every row, where other is the row in front as it was.
template <class Change>
void with_row_in_front(std::span<float> values, std::int64_t batch, const Change& change) {
  check(batch > 0 && values.size() % static_cast<std::size_t>(batch) == 0, "a batch of {} does not divide {} values",
        batch, values.size());
  const std::size_t size = values.size() / static_cast<std::size_t>(batch);
  const std::vector<float> last(values.end() - static_cast<std::ptrdiff_t>(size), values.end());
  for (std::int64_t b = batch - 1; b >= 0; --b) {
    float* own = values.data() + static_cast<std::size_t>(b) * size;
    change(own, b > 0 ? own - size : last.data(), size);
  }
}

}  // namespace

void mixup(std::span<float> values, std::int64_t batch, double share) {
  const auto kept = static_cast<float>(share), mixed = static_cast<float>(1 - share);
  with_row_in_front(values, batch, [&](float* own, const float* other, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) own[i] = kept * own[i] + mixed * other[i];
  });
}

double cutmix(std::span<float> values, std::int64_t batch, int width, int height, const PixelBox& box) {
  check(box.left >= 0 && box.top >= 0 && box.right <= width && box.bottom <= height && box.width() >= 0 &&
            box.height() >= 0,
        "cutmix: the box {}, {}, {}, {} does not lie in a picture of {} x {}", box.left, box.top, box.right, box.bottom,
        width, height);
  const std::size_t row = static_cast<std::size_t>(width), plane = row * static_cast<std::size_t>(height);
  with_row_in_front(values, batch, [&](float* own, const float* other, std::size_t size) {
    for (std::size_t p = 0; p + plane <= size; p += plane)
      for (int y = box.top; y < box.bottom; ++y) {
        const std::size_t at = p + static_cast<std::size_t>(y) * row + static_cast<std::size_t>(box.left);
        std::copy_n(other + at, box.width(), own + at);
      }
  });
  return 1 - static_cast<double>(box.width()) * box.height() / static_cast<double>(plane);
}

PixelBox cutmix_box(int width, int height, double share, Draws& draws) {
  const int x = draws.below(width), y = draws.below(height);
  const double half = 0.5 * std::sqrt(1 - share);
  const int w = static_cast<int>(half * width), h = static_cast<int>(half * height);
  return {std::max(0, x - w), std::max(0, y - h), std::min(width, x + w), std::min(height, y + h)};
}

}  // namespace attend::image
