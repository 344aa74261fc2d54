#include "attend/image/preprocessor.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attend/base/error.h"
#include "attend/image/rows.h"

namespace attend::image {

Normalization::Normalization(double rescale, const std::array<double, 3>& mean, const std::array<double, 3>& std) {
  for (std::size_t c = 0; c < 3; ++c)
    scale[c] = static_cast<float>(rescale / std[c]), shift[c] = static_cast<float>(-mean[c] / std[c]);
}

void to_planes(const Image& image, const Normalization& normalization, float* values, std::size_t row_stride,
               std::size_t plane_stride) {
  check_image(image, "normalise");
  check(image.channels == 3, "normalise: an image has 3 channels, not {}", image.channels);
  for (int y = 0; y < image.height; ++y) {
    float* row = values + static_cast<std::size_t>(y) * row_stride;
    float* const planes[] = {row, row + plane_stride, row + 2 * plane_stride};
    rows().planes(image.row(y), static_cast<std::size_t>(image.width), normalization.scale, normalization.shift,
                  planes);
  }
}

void to_floats(const Image& image, const Normalization& normalization, float* values) {
  check_image(image, "normalise");
  check(image.channels == 3, "normalise: an image has 3 channels, not {}", image.channels);
  // Eight pixels at a time, whose channels begin anew with each eight: compilers make whole vectors of that.
  constexpr std::size_t kRun = 24;
  float scale[kRun], shift[kRun];
  for (std::size_t i = 0; i < kRun; ++i) scale[i] = normalization.scale[i % 3], shift[i] = normalization.shift[i % 3];
  const std::uint8_t* pixels = image.pixels.data();
  const std::size_t count = image.pixels.size(), whole = count / kRun * kRun;
  for (std::size_t at = 0; at < whole; at += kRun)
    for (std::size_t i = 0; i < kRun; ++i) values[at + i] = static_cast<float>(pixels[at + i]) * scale[i] + shift[i];
  for (std::size_t i = whole; i < count; ++i)
    values[i] = static_cast<float>(pixels[i]) * scale[i - whole] + shift[i - whole];
}

Preprocessor::Preprocessor(PreprocessorConfig config)
    : config_(std::move(config)), normalization_(config_.rescale, config_.mean, config_.std) {}

// transformers leaves an image alone whose shortest edge would be rounded to what it is, though its longest is a few
// pixels more than allowed (129 x 40, of which 128 are). Where a fixed frame waits for it, it has to fit.
PixelSize Preprocessor::size_of(PixelSize image) const {
  const PixelSize size = config_.resize.of(image);
  const bool bounded = config_.resize.kind == SizeRule::Kind::shortest_within && config_.pad_size &&
                       config_.resize.size.height <= std::min(config_.pad_size->width, config_.pad_size->height);
  if (!bounded) return size;
  return {std::min(size.width, config_.pad_size->width), std::min(size.height, config_.pad_size->height)};
}

template <class Source>
Image Preprocessor::prepared(Source& source, PixelSize image) const {
  const PixelSize size = size_of(image);
  ResizeOptions options{.filter = config_.filter, .precision = config_.precision};
  if (!config_.crop) return resize(source, size.width, size.height, options);
  const PixelBox middle =
      centre_box(size.width, size.height, config_.crop->width, config_.crop->height, config_.centre);
  const bool inside = middle.left >= 0 && middle.top >= 0 && middle.right <= size.width && middle.bottom <= size.height;
  if (!inside) return crop(resize(source, size.width, size.height, options), middle);
  options.window = middle;  // what would be cut away is not computed
  return resize(source, size.width, size.height, options);
}

Image Preprocessor::prepare(const Image& image) const { return prepared(image, {image.width, image.height}); }
Image Preprocessor::prepare(ImageRows& rows) const { return prepared(rows, {rows.width(), rows.height()}); }

Pixels Preprocessor::stack(std::span<const Image> prepared) const {
  check(!prepared.empty(), "there are no images");
  PixelSize size = {prepared[0].width, prepared[0].height};
  for (const Image& image : prepared) {
    check(config_.pad || (image.width == size.width && image.height == size.height),
          "images become {} x {} and {} x {}: this model takes one size at a time", size.width, size.height,
          image.width, image.height);
    size = {std::max(size.width, image.width), std::max(size.height, image.height)};
  }
  if (config_.pad_size) {
    check(size.width <= config_.pad_size->width && size.height <= config_.pad_size->height,
          "an image of {} x {} does not fit into the {} x {} of pad_size", size.width, size.height,
          config_.pad_size->width, config_.pad_size->height);
    size = *config_.pad_size;
  }
  Pixels pixels{.batch = static_cast<std::int64_t>(prepared.size()), .height = size.height, .width = size.width};
  const auto width = static_cast<std::size_t>(size.width), plane = width * static_cast<std::size_t>(size.height);
  pixels.values.resize(prepared.size() * 3 * plane);
  if (config_.pad) pixels.mask.resize(prepared.size() * plane);
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    to_planes(prepared[i], normalization_, pixels.values.data() + i * 3 * plane, width, plane);
    for (int y = 0; config_.pad && y < prepared[i].height; ++y)
      std::fill_n(pixels.mask.data() + i * plane + static_cast<std::size_t>(y) * width, prepared[i].width, 1);
  }
  return pixels;
}

Pixels Preprocessor::operator()(std::span<const Image> images) const {
  std::vector<Image> prepared;
  prepared.reserve(images.size());
  for (const Image& image : images) prepared.push_back(prepare(image));
  return stack(prepared);
}

}  // namespace attend::image
