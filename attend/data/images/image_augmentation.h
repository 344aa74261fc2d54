// How images become what a model learns from, as settings and as a function: a part of the image, flipped, changed
// by RandAugment, normalised to floats with the channels side by side, a box of it erased.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "attend/data/images/image_reader.h"
#include "attend/image/augment.h"
#include "attend/image/preprocessor.h"

namespace attend::data {

struct ImageOptions {
  std::int64_t image_size = 224;
  std::string crop = "resized";  // shift, none
  std::int64_t crop_padding = 4;
  double least_area = 0.08;
  bool flip = true;
  std::int64_t rand_augment_operations = 0, rand_augment_magnitude = 9;
  double mixup = 0, cutmix = 0, erasing = 0;
  std::string mean = "0.485,0.456,0.406", std = "0.229,0.224,0.225";  // ImageNet's
  std::string broken = "stop";
  std::int64_t cache_bytes = std::int64_t{2} << 30;
  std::int64_t workers = 0;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("image_size", image_size, "of the images the model sees, in pixels a side");
    v("crop", crop, "resized: a random part, resized; shift: all of it, moved a little; none: all of it, resized");
    v("crop_padding", crop_padding, "how many pixels --crop shift moves an image each way at most");
    v("least_area", least_area, "of an image, that --crop resized takes: a share");
    v("flip", flip, "every other image is mirrored, at random");
    v("rand_augment_operations", rand_augment_operations, "of RandAugment on each image; 0: none");
    v("rand_augment_magnitude", rand_augment_magnitude, "how strong they are, 0 to 30");
    v("mixup", mixup, "mixes images: the alpha of Beta(alpha, alpha); 0: not");
    v("cutmix", cutmix, "puts boxes of images into others: the alpha of Beta(alpha, alpha); 0: not");
    v("erasing", erasing, "the share of images of which a random box is erased");
    v("mean", mean, "of red, green and blue (1 is white), which becomes 0");
    v("std", std, "of red, green and blue, which becomes 1");
    v("broken", broken, "what an image that cannot be read does: stop, or skip (another takes its place)");
    v("cache_bytes", cache_bytes, "of memory for decoded images");
    v("workers", workers, "threads that make images ready; 0: one a core");
  }

  // Throws Error that names the setting.
  void check_ranges() const;
  image::Normalization normalization() const;
  ImageReaderOptions reading() const;
  // What an image goes through when the model is used: of crop resized the middle 7/8 of the shortest edge, else all
  // of it, as a square.
  image::PreprocessorConfig evaluation() const;
};

class ImageMaker {
 public:
  explicit ImageMaker(const ImageOptions& options);

  std::size_t values() const { return static_cast<std::size_t>(3 * size_ * size_); }  // of an image
  // values [size, size, 3]. What is drawn decides all; mixing is the batch's.
  void operator()(const image::Image& image, image::Draws& draws, std::span<float> values) const;

 private:
  ImageOptions options_;
  int size_;
  image::Normalization normalization_;
};

}  // namespace attend::data
