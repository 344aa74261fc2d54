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

// How image files are read and normalised, whatever is learned from them.
struct ImageInput {
  std::string mean = "0.485,0.456,0.406", std = "0.229,0.224,0.225";  // ImageNet's
  std::string broken = "stop";
  std::int64_t cache_bytes = std::int64_t{2} << 30;
  std::int64_t workers = 0;

  template <class Visitor>
  void visit_input(Visitor&& v) {
    v("mean", mean, "Mean of the red, green and blue channels (white is 1), subtracted from the input.");
    v("std", std, "Standard deviation of the red, green and blue channels; the input is divided by it.");
    v("broken", broken, "Action on an unreadable image: stop, or skip (another image takes its place).");
    v("cache_bytes", cache_bytes, "Memory for decoded images, in bytes.");
    v("workers", workers, "Threads that decode and augment images; 0 means one per core.");
  }

  // Throws Error that names the setting.
  void check_input() const;
  image::Normalization normalization() const;
  ImageReaderOptions reading() const;
  // preprocessor_config.json without a size.
  image::PreprocessorConfig preprocessor(std::string family) const;
};

struct ImageOptions : ImageInput {
  std::int64_t image_size = 224;
  std::string crop = "resized";  // shift, none
  std::int64_t crop_padding = 4;
  std::string border = "black";  // reflected
  double least_area = 0.08;
  bool flip = true, alternate_flip = false;
  std::int64_t rand_augment_operations = 0, rand_augment_magnitude = 9;
  bool rand_augment_varied = false;
  double mixup = 0, cutmix = 0, mix_until = 1, erasing = 0;
  std::int64_t cutout = 0;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("image_size", image_size, "Side of the model's input images, in pixels.");
    v("crop", crop,
      "Crop: resized (random part, resized), shift (whole image, shifted) or none (whole image, resized).");
    v("crop_padding", crop_padding, "Maximum shift of --crop shift, in pixels.");
    v("border", border, "What --crop shift puts where no image is: black or reflected.");
    v("least_area", least_area, "Minimum share of the image area that --crop resized keeps.");
    v("flip", flip, "Flip images horizontally at random.");
    v("alternate_flip", alternate_flip, "Flip each image in every other epoch instead (Jordan 2024).");
    v("rand_augment_operations", rand_augment_operations, "RandAugment operations per image; 0 disables it.");
    v("rand_augment_magnitude", rand_augment_magnitude, "RandAugment magnitude, 0 to 30.");
    v("rand_augment_varied", rand_augment_varied,
      "RandAugment: draw the magnitude of each operation from 0 to --rand-augment-magnitude. With 1 operation and 30 "
      "that is TrivialAugment.");
    v("mixup", mixup, "Mixup: alpha of Beta(alpha, alpha); 0 disables it.");
    v("cutmix", cutmix, "CutMix: alpha of Beta(alpha, alpha); 0 disables it.");
    v("mix_until", mix_until,
      "Mixup and CutMix: share of the run in which images are mixed; what follows trains on whole images.");
    v("erasing", erasing, "Random erasing: probability per image.");
    v("cutout", cutout, "Cutout: side of the square to blank, in pixels; 0 disables it.");
    visit_input(v);
  }

  // Throws Error that names the setting.
  void check_ranges() const;
  // What an image goes through when the model is used: of crop resized the middle 7/8 of the shortest edge, else all
  // of it, as a square.
  image::PreprocessorConfig evaluation() const;
};

// Whether an image is flipped where the settings say so: by chance, or because its epoch says so.
enum class Flip : std::uint8_t { by_chance, yes, no };

class ImageMaker {
 public:
  explicit ImageMaker(const ImageOptions& options);

  std::size_t values() const { return static_cast<std::size_t>(3 * size_ * size_); }  // of an image
  // values [size, size, 3]. What is drawn decides all; mixing is the batch's.
  void operator()(const image::Image& image, image::Draws& draws, std::span<float> values,
                  Flip flip = Flip::by_chance) const;

 private:
  ImageOptions options_;
  int size_;
  image::Normalization normalization_;
};

}  // namespace attend::data
