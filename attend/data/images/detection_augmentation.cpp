#include "attend/data/images/detection_augmentation.h"

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/image/augment_ops.h"

namespace attend::data {

namespace {

constexpr std::int64_t kMostPasted = 100;

void check_share(double value, double least, const char* name) {
  check(value >= least && value <= 1, "{} is from {} to 1, not {}", name, least, value);
}

}  // namespace

void DetectionOptions::check_ranges() const {
  constexpr std::int64_t kLeast = 16, kMost = limits::kLargestModelImage;
  check(image_size >= kLeast && image_size <= kMost, "image_size must be from {} to {}, not {}", kLeast, kMost,
        image_size);
  check_share(crop_chance, 0, "crop_chance");
  check_share(least_crop, 0.1, "least_crop");
  check_share(least_scale, 0.1, "least_scale");
  check_share(jitter, 0, "jitter");
  check(copy_paste >= 0 && copy_paste <= kMostPasted, "copy_paste is from 0 to {}, not {}", kMostPasted, copy_paste);
  check_share(copy_paste_chance, 0, "copy_paste_chance");
  check_input();
}

image::PreprocessorConfig DetectionOptions::evaluation() const {
  const int size = static_cast<int>(image_size);
  image::PreprocessorConfig config = preprocessor("Detr");
  config.resize = {image::SizeRule::Kind::shortest_within, {size, size}};
  config.pad = true, config.pad_size = image::PixelSize{size, size};
  return config;
}

DetectionMaker::DetectionMaker(const DetectionOptions& options)
    : options_((options.check_ranges(), options)),
      size_(static_cast<int>(options.image_size)),
      preprocessor_(options.evaluation()) {}

// Each edge lies between the image's and those of the boxes, and what is left is not too little.
LabelledBox DetectionMaker::part_of(const std::vector<LabelledBox>& boxes, image::Draws& draws) const {
  LabelledBox hull{.left = 1, .top = 1, .right = 0, .bottom = 0};
  for (const LabelledBox& box : boxes) {
    hull.left = std::min(hull.left, box.left), hull.right = std::max(hull.right, box.right);
    hull.top = std::min(hull.top, box.top), hull.bottom = std::max(hull.bottom, box.bottom);
  }
  const double least = options_.least_crop;
  LabelledBox part;
  part.left = draws.between(0, std::min(hull.left, 1 - least));
  part.top = draws.between(0, std::min(hull.top, 1 - least));
  part.right = draws.between(std::min(1.0, std::max(hull.right, part.left + least)), 1);
  part.bottom = draws.between(std::min(1.0, std::max(hull.bottom, part.top + least)), 1);
  return part;
}

Extent2 DetectionMaker::put(const image::Image& resized, std::span<float> values) const {
  check(values.size() == this->values() && resized.width <= size_ && resized.height <= size_,
        "an image of {} x {} in {} values of {} x {}", resized.width, resized.height, values.size(), size_, size_);
  std::vector<float> floats(resized.pixels.size());
  image::to_floats(resized, preprocessor_.normalization(), floats.data());
  std::ranges::fill(values, 0.0f);
  const std::size_t row = resized.row_bytes(), stride = 3 * static_cast<std::size_t>(size_);
  for (std::size_t y = 0; y < static_cast<std::size_t>(resized.height); ++y)
    std::copy_n(floats.data() + y * row, row, values.data() + y * stride);
  return {resized.height, resized.width};
}

Extent2 DetectionMaker::plain(const image::Image& image, std::span<float> values) const {
  return put(preprocessor_.prepare(image), values);
}

DetectionMaker::Made DetectionMaker::operator()(const image::Image& image, const std::vector<LabelledBox>& boxes,
                                                image::Draws& draws, std::span<float> values) const {
  image::check_image(image, "detection");
  LabelledBox part{.left = 0, .top = 0, .right = 1, .bottom = 1};
  if (draws.chance(options_.crop_chance)) part = part_of(boxes, draws);
  const double scale = draws.between(options_.least_scale, 1);
  const bool mirrored = options_.flip && draws.chance(0.5);

  const image::Box cut{part.left * image.width, part.top * image.height, part.right * image.width,
                       part.bottom * image.height};
  const int edge = std::max(1, static_cast<int>(std::lround(scale * size_)));
  const auto pixels = [](double length) { return std::max(1, static_cast<int>(std::lround(length))); };
  const double times = edge / std::max(cut.right - cut.left, cut.bottom - cut.top);
  const int width = std::min(edge, pixels(times * (cut.right - cut.left)));
  const int height = std::min(edge, pixels(times * (cut.bottom - cut.top)));
  image::Image made = image::resize(image, width, height, {.filter = image::Filter::bilinear, .box = cut});
  if (mirrored) made = image::random_flip(made, draws, 1);
  if (options_.jitter > 0) {
    const auto factor = [&] { return draws.between(1 - options_.jitter, 1 + options_.jitter); };
    made = image::adjust_brightness(made, factor());
    made = image::adjust_contrast(made, factor());
    made = image::adjust_color(made, factor());
  }

  Made result{.size = put(made, values), .boxes = {}};
  for (LabelledBox box : boxes) {
    const double across = part.right - part.left, down = part.bottom - part.top;
    box.left = (box.left - part.left) / across, box.right = (box.right - part.left) / across;
    box.top = (box.top - part.top) / down, box.bottom = (box.bottom - part.top) / down;
    if (mirrored) box = {box.label, 1 - box.right, box.top, 1 - box.left, box.bottom};
    result.boxes.push_back(box);
  }
  return result;
}

}  // namespace attend::data
