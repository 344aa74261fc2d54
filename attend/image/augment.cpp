#include "attend/image/augment.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "attend/base/error.h"
#include "attend/image/augment_ops.h"

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
  // None fitted: the middle, as near to the shapes as the image allows.
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

Image random_shift(const Image& image, int padding, Draws& draws, Border border) {
  check(padding >= 0, "shift: by {} pixels makes no sense", padding);
  const int left = draws.below(2 * padding + 1) - padding, top = draws.below(2 * padding + 1) - padding;
  return crop(image, {left, top, left + image.width, top + image.height}, border);
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
  for (int i = 0; i < options.operations; ++i) {
    const auto operation = static_cast<Operation>(draws.below(kOperations));
    const int magnitude = options.varied ? draws.below(options.magnitude + 1) : options.magnitude;
    const double strength = static_cast<double>(magnitude) / (options.bins - 1);
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

PixelBox random_cutout(int width, int height, int side, Draws& draws) {
  const int x = draws.below(width), y = draws.below(height), half = side / 2;
  return {std::max(0, x - half), std::max(0, y - half), std::min(width, x - half + side),
          std::min(height, y - half + side)};
}

namespace {

void check_inside(const PixelBox& box, int width, int height, const char* who) {
  check(box.left >= 0 && box.top >= 0 && box.right <= width && box.bottom <= height && box.width() >= 0 &&
            box.height() >= 0,
        "{}: the box {}, {}, {}, {} does not lie in an image of {} x {}", who, box.left, box.top, box.right, box.bottom,
        width, height);
}

// Of images of so many values.
std::size_t channels_of(std::size_t values, int width, int height, const char* who) {
  const std::size_t pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  check(pixels > 0 && values > 0 && values % pixels == 0, "{}: {} values are no image of {} x {}", who, values, width,
        height);
  return values / pixels;
}

// change(own, other) for every row of the batch, where other is the row in front as it was. Only values [begin, end) of
// a row are changed.
template <class Change>
void with_row_in_front(std::span<float> values, std::size_t size, std::size_t begin, std::size_t end,
                       const Change& change) {
  const float* after = values.data() + values.size() - size;
  const std::vector<float> last(after + begin, after + end);
  for (std::size_t b = values.size() / size; b-- > 0;) {
    float* own = values.data() + b * size + begin;
    change(own, b > 0 ? own - size : last.data());
  }
}

// The box of cutmix that takes about 1 - share of the image.
PixelBox cutmix_box(int width, int height, double share, Draws& draws) {
  const int x = draws.below(width), y = draws.below(height);
  const double half = 0.5 * std::sqrt(1 - share);
  const int w = static_cast<int>(half * width), h = static_cast<int>(half * height);
  return {std::max(0, x - w), std::max(0, y - h), std::min(width, x + w), std::min(height, y + h)};
}

}  // namespace

void erase(std::span<float> values, int width, int height, const PixelBox& box) {
  check_inside(box, width, height, "erase");
  const std::size_t channels = channels_of(values.size(), width, height, "erase");
  for (int y = box.top; y < box.bottom; ++y) {
    const std::size_t at =
        static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(box.left);
    std::fill_n(values.data() + at * channels, static_cast<std::size_t>(box.width()) * channels, 0.0f);
  }
}

Mix random_mix(int width, int height, const Mixing& options, Draws& draws) {
  check(options.mixup >= 0 && options.cutmix >= 0, "mix: the alphas {} and {} are 0 or more", options.mixup,
        options.cutmix);
  if (options.mixup == 0 && options.cutmix == 0) return {};
  const bool both = options.mixup > 0 && options.cutmix > 0;
  const bool cut = both ? draws.chance(0.5) : options.cutmix > 0;
  const double share = draws.beta(cut ? options.cutmix : options.mixup);
  if (!cut) return {.kind = Mix::Kind::mixup, .share = share};
  const PixelBox box = cutmix_box(width, height, share, draws);
  const double area = static_cast<double>(box.width()) * box.height() / (static_cast<double>(width) * height);
  return {.kind = Mix::Kind::cutmix, .share = 1 - area, .box = box};
}

void apply(const Mix& mix, std::span<float> values, std::int64_t batch, int width, int height, int top, int bottom) {
  check(batch > 0 && values.size() % static_cast<std::size_t>(batch) == 0,
        "mix: a batch of {} does not divide {} values", batch, values.size());
  check(top >= 0 && top <= bottom && bottom <= height, "mix: there are no rows {} to {} in an image of {} x {}", top,
        bottom, width, height);
  const std::size_t size = values.size() / static_cast<std::size_t>(batch);
  const std::size_t channels = channels_of(size, width, height, "mix");
  const std::size_t row = static_cast<std::size_t>(width) * channels;
  if (mix.kind == Mix::Kind::mixup) {
    const auto kept = static_cast<float>(mix.share), mixed = static_cast<float>(1 - mix.share);
    for (int y = top; y < bottom; ++y) {  // row by row, so that what is kept of the last one stays in a near cache
      const std::size_t begin = static_cast<std::size_t>(y) * row;
      with_row_in_front(values, size, begin, begin + row, [&](float* own, const float* other) {
        for (std::size_t i = 0; i < row; ++i) own[i] = kept * own[i] + mixed * other[i];
      });
    }
  } else if (mix.kind == Mix::Kind::cutmix) {
    check_inside(mix.box, width, height, "cutmix");
    const std::size_t wide = static_cast<std::size_t>(mix.box.width()) * channels;
    for (int y = std::max(top, mix.box.top); y < std::min(bottom, mix.box.bottom); ++y) {
      const std::size_t begin = static_cast<std::size_t>(y) * row + static_cast<std::size_t>(mix.box.left) * channels;
      with_row_in_front(values, size, begin, begin + wide,
                        [&](float* own, const float* other) { std::copy_n(other, wide, own); });
    }
  }
}

}  // namespace attend::image
