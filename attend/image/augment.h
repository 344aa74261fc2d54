// Augmentation: an image and draws in, another image out. Draws are counter-based, so an image's augmentation is a
// function of (seed, stream) alone, whatever thread does it and whatever came before. Definitions are torchvision's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "attend/base/random.h"
#include "attend/image/crop.h"
#include "attend/image/image.h"
#include "attend/image/resize.h"

namespace attend::image {

// The numbers of one stream, one after the other.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint32_t stream) : seed_(seed), stream_(stream) {}

  double unit() { return to_unit(word()); }  // [0, 1)
  double between(double least, double most) { return least + (most - least) * unit(); }
  int below(int count) {
    return static_cast<int>(static_cast<std::uint64_t>(word()) * static_cast<std::uint64_t>(count) >> 32);
  }
  bool chance(double probability) { return unit() < probability; }
  double normal();
  double beta(double alpha);  // Beta(alpha, alpha)

 private:
  std::uint32_t word() { return random_word(seed_, stream_, at_++); }
  double gamma(double shape);

  std::uint64_t seed_, at_ = 0;
  std::uint32_t stream_;
};

// A part of random area and shape, resized to width x height (Szegedy et al. 2015; torchvision's RandomResizedCrop).
struct ResizedCrop {
  double least_area = 0.08, most_area = 1, least_ratio = 3.0 / 4, most_ratio = 4.0 / 3;
  Filter filter = Filter::bilinear;
};
PixelBox random_part(int width, int height, const ResizedCrop& options, Draws& draws);
Image random_resized_crop(const Image& image, int width, int height, const ResizedCrop& options, Draws& draws);

// Moved by up to `padding` pixels each way (the usual one for CIFAR).
Image random_shift(const Image& image, int padding, Draws& draws, Border border = Border::black);
Image random_flip(const Image& image, Draws& draws, double probability = 0.5);

// RandAugment (Cubuk et al. 2020): so many operations in turn, each drawn from the same fourteen. If they are varied,
// each has a magnitude of its own, from 0 to that one, as in TrivialAugment (Müller & Hutter 2021).
struct RandAugment {
  int operations = 2, magnitude = 9, bins = 31;
  bool varied = false;
};
Image rand_augment(Image image, const RandAugment& options, Draws& draws);

// Random Erasing (Zhong et al. 2017): which part of an image to blank, if any.
struct Erasing {
  double probability = 0.5, least_area = 0.02, most_area = 0.33, least_ratio = 0.3, most_ratio = 3.3;
};
std::optional<PixelBox> random_erasing(int width, int height, const Erasing& options, Draws& draws);
// Cutout (DeVries & Taylor 2017): a square of side x side pixels around any pixel; what lies outside of the image is
// cut off.
PixelBox random_cutout(int width, int height, int side, Draws& draws);
// Zero in every channel of values [height, width, channels].
void erase(std::span<float> values, int width, int height, const PixelBox& box);

// A batch mixed with itself, moved on by one. The labels of a row are share of its own and 1 - share of the row in
// front (of the first: the last).
//   mixup (Zhang et al. 2018): value = share * own + (1 - share) * other
//   cutmix (Yun et al. 2019): a box comes from the other; share is what is left of its own
struct Mix {
  enum class Kind : std::uint8_t { none, mixup, cutmix };
  Kind kind = Kind::none;
  double share = 1;
  PixelBox box = {};  // cutmix's
};
// Shares are drawn from Beta(alpha, alpha); an alpha of 0 leaves that kind out. With both, each is as likely.
struct Mixing {
  double mixup = 0, cutmix = 0;
};
Mix random_mix(int width, int height, const Mixing& options, Draws& draws);
// Mixes the rows [top, bottom) of the images values [batch, height, width, channels]: threads can share the work.
void apply(const Mix& mix, std::span<float> values, std::int64_t batch, int width, int height, int top, int bottom);

}  // namespace attend::image
