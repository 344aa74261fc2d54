// DiffAugment (Zhao et al. 2020, "Differentiable Augmentation for Data-Efficient GAN Training"): the discriminator sees
// real and generated images only after random changes, other ones for every image and every turn. Gradients flow
// through the changes to the generator, so it learns to draw images without them.
//   color         brightness, saturation and contrast
//   translation   moves the image by up to an eighth of its side; black comes in
//   cutout        blanks a square of half the side
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "attend/tensor/pass.h"

namespace attend::train {

struct DiffAugmentOptions {
  bool color = false, translation = false, cutout = false;
  bool any() const { return color || translation || cutout; }
};

// From names with commas between them; empty means none. Throws Error for another name; what opens the message.
DiffAugmentOptions diff_augment_named(std::string_view names, std::string_view what);

class DiffAugment {
 public:
  // For up to `most` images of side x side at once.
  DiffAugment(const DiffAugmentOptions& options, Backend& backend, std::int64_t most, std::int64_t side);

  // Changes of images, as the device takes them.
  struct Draws {
    std::vector<float> colors;         // kFactors rows with a number for each image
    std::vector<std::int32_t> pixels;  // where each pixel comes from: 1 + its number, or 0 for black
  };
  // Those of `count` images from a number on: the same for the same seed and number.
  static Draws draw(const DiffAugmentOptions& options, std::int64_t side, std::uint64_t seed, std::uint64_t first,
                    std::int64_t count);
  // Draws for all images, used from now on.
  void put(const Draws& draws) const;
  // images [n, side, side, 3] in a pass -> the same shape, changed
  Tensor operator()(const Tensor& images) const;

 private:
  static constexpr std::int64_t kFactors = 5;  // brightness, saturation and contrast, each of these with 1 minus it
  Tensor colored(const Tensor& images) const;
  Tensor moved(const Tensor& images) const;

  DiffAugmentOptions options_;
  std::int64_t most_;
  Tensor colors_, pixels_, black_;  // f32 [kFactors · most], i32 [most · side · side], f32 [1, 3]
};

}  // namespace attend::train
