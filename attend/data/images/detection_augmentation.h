// How an image with boxes becomes what a detector learns from, as settings and as a function: a part of it that keeps
// every box whole, resized, mirrored (as Carion et al. 2020, section 4, do it, with their crop made to keep boxes), its
// colours jittered, normalised, and put into the upper left corner of a square that is the same for all images. So
// every step of a run has one shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attend/data/images/detection_sets.h"
#include "attend/data/images/image_augmentation.h"
#include "attend/tensor/images.h"

namespace attend::data {

struct DetectionOptions : ImageInput {
  std::int64_t image_size = 256;
  bool flip = true;
  double crop_chance = 0.5, least_crop = 0.6, least_scale = 0.7, jitter = 0;
  std::int64_t copy_paste = 0;
  double copy_paste_chance = 0.5;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("image_size", image_size, "Side of the square that images are scaled to fit, in pixels.");
    v("flip", flip, "Flip images horizontally at random.");
    v("crop_chance", crop_chance, "Probability of a random crop, which cuts no box.");
    v("least_crop", least_crop, "Minimum share of width and height that a crop keeps.");
    v("least_scale", least_scale, "Minimum random scale, relative to --image-size; 1 disables scaling.");
    v("jitter", jitter,
      "Colour jitter: brightness, contrast and saturation change by a random factor of up to 1 plus or minus this; 0 "
      "disables it.");
    v("copy_paste", copy_paste,
      "Copy-paste augmentation: maximum number of objects to paste from other images; 0 disables it.");
    v("copy_paste_chance", copy_paste_chance, "Copy-paste augmentation: probability per image.");
    visit_input(v);
  }

  // Throws Error that names the setting.
  void check_ranges() const;
  // preprocessor_config.json's: what an image goes through when the model is used.
  image::PreprocessorConfig evaluation() const;
};

class DetectionMaker {
 public:
  explicit DetectionMaker(const DetectionOptions& options);

  struct Made {
    Extent2 size = {};  // of the image in the square
    std::vector<LabelledBox> boxes = {};
  };
  std::int64_t side() const { return size_; }
  std::size_t values() const { return static_cast<std::size_t>(3 * size_ * size_); }  // of a square
  // values [size, size, 3]. What is drawn decides all.
  Made operator()(const image::Image& image, const std::vector<LabelledBox>& boxes, image::Draws& draws,
                  std::span<float> values) const;
  image::Image prepare(const image::Image& image) const { return preprocessor_.prepare(image); }
  // The image as it is when the model is used; returns its size.
  Extent2 plain(const image::Image& image, std::span<float> values) const;

 private:
  LabelledBox part_of(const std::vector<LabelledBox>& boxes, image::Draws& draws) const;
  Extent2 put(const image::Image& resized, std::span<float> values) const;

  DetectionOptions options_;
  int size_;
  image::Preprocessor preprocessor_;
};

}  // namespace attend::data
