#include "attend/data/images/image_augmentation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/image/augment_ops.h"

namespace attend::data {

namespace {

// "0.5,0.5,0.5", or one number for all three.
std::array<double, 3> three_numbers(std::string_view text, const char* name) {
  std::array<double, 3> numbers{};
  std::size_t count = 0;
  for (std::string_view rest = text; count < 3;) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view one = rest.substr(0, end);
    const auto [stop, error] = std::from_chars(one.data(), one.data() + one.size(), numbers[count]);
    if (error != std::errc() || stop != one.data() + one.size() || !std::isfinite(numbers[count])) break;
    ++count;
    if (end == rest.size()) {
      if (count == 1) numbers[1] = numbers[2] = numbers[0];
      if (count != 2) return numbers;
      break;
    }
    rest.remove_prefix(end + 1);
  }
  fail("{} is three numbers, as '0.5,0.5,0.5', or one for all, not '{}'", name, text);
}

void check_from(double value, double least, double most, const char* name) {
  check(value >= least && value <= most, "{} must be from {} to {}, not {}", name, least, most, value);
}

}  // namespace

void ImageInput::check_input() const {
  check(broken == "stop" || broken == "skip", "broken is stop or skip, not '{}'", broken);
  check(cache_bytes >= 0, "cache_bytes must be 0 or more, not {}", cache_bytes);
  check_from(static_cast<double>(workers), 0, 4096, "workers");
  three_numbers(mean, "mean");
  for (const double one : three_numbers(std, "std")) check(one > 0, "std is above 0, not '{}'", std);
}

image::Normalization ImageInput::normalization() const {
  return {1.0 / 255, three_numbers(mean, "mean"), three_numbers(std, "std")};
}

ImageReaderOptions ImageInput::reading() const {
  return {.broken = broken == "skip" ? BrokenImages::skip : BrokenImages::stop, .cache_bytes = cache_bytes};
}

image::PreprocessorConfig ImageInput::preprocessor(std::string family) const {
  image::PreprocessorConfig config{.family = std::move(family)};
  config.mean = three_numbers(mean, "mean"), config.std = three_numbers(std, "std");
  return config;
}

void ImageOptions::check_ranges() const {
  constexpr double kLargestAlpha = 1000;
  check_from(static_cast<double>(image_size), 1, static_cast<double>(limits::kLargestModelImage), "image_size");
  check(crop == "resized" || crop == "shift" || crop == "none", "crop is resized, shift or none, not '{}'", crop);
  check(border == "black" || border == "reflected", "border is black or reflected, not '{}'", border);
  check_from(static_cast<double>(crop_padding), 0, static_cast<double>(image_size - (border == "black" ? 0 : 1)),
             "crop_padding");
  check_from(least_area, 1e-6, 1, "least_area");
  check_from(static_cast<double>(rand_augment_operations), 0, 100, "rand_augment_operations");
  check_from(static_cast<double>(rand_augment_magnitude), 0, image::RandAugment{}.bins - 1, "rand_augment_magnitude");
  check_from(mixup, 0, kLargestAlpha, "mixup");
  check_from(cutmix, 0, kLargestAlpha, "cutmix");
  check_from(mix_until, 0, 1, "mix_until");
  check_from(erasing, 0, 1, "erasing");
  check_from(static_cast<double>(cutout), 0, static_cast<double>(2 * image_size), "cutout");
  check(flip || !alternate_flip, "alternate_flip needs flip");
  check_input();
}

image::PreprocessorConfig ImageOptions::evaluation() const {
  using Kind = image::SizeRule::Kind;
  const int size = static_cast<int>(image_size);
  image::PreprocessorConfig config = preprocessor(crop == "resized" ? "ConvNext" : "ViT");
  if (crop != "resized") {
    config.resize = {Kind::exact, {size, size}};
    return config;
  }
  config.resize = {Kind::shortest, {static_cast<int>(size / 0.875), 0}};
  config.crop = image::PixelSize{size, size};
  return config;
}

ImageMaker::ImageMaker(const ImageOptions& options)
    : options_((options.check_ranges(), options)),
      size_(static_cast<int>(options.image_size)),
      normalization_(options.normalization()) {}

void ImageMaker::operator()(const image::Image& image, image::Draws& draws, std::span<float> values, Flip flip) const {
  check(values.size() == this->values(), "an image of {} x {} has {} values, not {}", size_, size_, this->values(),
        values.size());
  image::Image changed;
  const image::Image* now = &image;
  const auto change = [&](image::Image&& image) {
    changed = std::move(image);
    now = &changed;
  };
  if (options_.crop == "resized")
    change(image::random_resized_crop(*now, size_, size_, {.least_area = options_.least_area}, draws));
  else if (now->width != size_ || now->height != size_)
    change(image::resize(*now, size_, size_, {.filter = image::Filter::bilinear}));
  if (options_.crop == "shift")
    change(image::random_shift(*now, static_cast<int>(options_.crop_padding), draws,
                               options_.border == "black" ? image::Border::black : image::Border::reflected));
  if (options_.flip && flip == Flip::by_chance) change(image::random_flip(*now, draws));
  if (options_.flip && flip == Flip::yes) change(image::flip_horizontal(*now));
  if (options_.rand_augment_operations > 0)
    change(image::rand_augment(*now,
                               {.operations = static_cast<int>(options_.rand_augment_operations),
                                .magnitude = static_cast<int>(options_.rand_augment_magnitude),
                                .varied = options_.rand_augment_varied},
                               draws));
  image::to_floats(*now, normalization_, values.data());
  if (options_.erasing > 0)
    if (const auto box = image::random_erasing(size_, size_, {.probability = options_.erasing}, draws))
      image::erase(values, size_, size_, *box);
  if (options_.cutout > 0)
    image::erase(values, size_, size_, image::random_cutout(size_, size_, static_cast<int>(options_.cutout), draws));
}

}  // namespace attend::data
