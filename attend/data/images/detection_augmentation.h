// How an image with boxes becomes what a detector learns from, as settings and as a function: a part of it that keeps
// every box whole, resized, mirrored (as Carion et al. 2020, section 4, do it, with their crop made to keep boxes),
// normalised, and put into the upper left corner of a square that is the same for all images. So every step of a run
// has one shape.
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

struct DetectionOptions {
  std::int64_t image_size = 256;
  bool flip = true;
  double crop_chance = 0.5, least_crop = 0.6, least_scale = 0.7;
  std::int64_t copy_paste = 0;
  double copy_paste_chance = 0.5;
  std::string mean = "0.485,0.456,0.406", std = "0.229,0.224,0.225";  // ImageNet's
  std::string broken = "stop";
  std::int64_t cache_bytes = std::int64_t{2} << 30;
  std::int64_t workers = 0;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("image_size", image_size, "of the square that images are made to fit into, in pixels a side");
    v("flip", flip, "every other image is mirrored, at random");
    v("crop_chance", crop_chance, "detect: the share of images of which a part is taken; no box is cut");
    v("least_crop", least_crop, "detect: how much of an image's width and height that part has at least");
    v("least_scale", least_scale, "detect: how large images become at least, in parts of --image-size; 1: all of it");
    v("copy_paste", copy_paste,
      "detect: so many things at most are cut out of other images by their masks and pasted in; 0: none");
    v("copy_paste_chance", copy_paste_chance, "detect: the share of images that things are pasted into");
    v("mean", mean, "of red, green and blue (1 is white), which becomes 0");
    v("std", std, "of red, green and blue, which becomes 1");
    v("broken", broken, "what an image that cannot be read does: stop, or skip (another takes its place)");
    v("cache_bytes", cache_bytes, "of memory for decoded images");
    v("workers", workers, "threads that make images ready; 0: one a core");
  }

  // Throws Error that names the setting.
  void check_ranges() const;
  ImageOptions images() const;  // what it shares with those of labels
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
