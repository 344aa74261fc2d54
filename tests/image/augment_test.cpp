// Augmentation: each operation against Pillow, and what is drawn against what it is meant to be.
#include "attend/image/augment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "attend/base/error.h"
#include "attend/image/augment_ops.h"
#include "attend/image/crop.h"
#include "tests/image/images.h"

namespace attend {
namespace {

using image::Draws;
using image::Image;
using image::PixelBox;

using Operation = std::function<Image(const Image&, double)>;

const std::map<std::string, Operation>& operations() {
  static const std::map<std::string, Operation> list = {
      {"brightness", image::adjust_brightness},
      {"color", image::adjust_color},
      {"contrast", image::adjust_contrast},
      {"sharpness", image::adjust_sharpness},
      {"posterize", [](const Image& i, double v) { return image::posterize(i, static_cast<int>(v)); }},
      {"solarize", [](const Image& i, double v) { return image::solarize(i, static_cast<int>(v)); }},
      {"auto_contrast", [](const Image& i, double) { return image::auto_contrast(i); }},
      {"equalize", [](const Image& i, double) { return image::equalize(i); }},
      {"invert", [](const Image& i, double) { return image::invert(i); }},
      {"rotate", image::rotate},
      {"shear_x",
       [](const Image& i, double v) {
         return image::affine(i, {1, v, 0, 0, 1, 0});
       }},
      {"shear_y",
       [](const Image& i, double v) {
         return image::affine(i, {1, 0, 0, v, 1, 0});
       }},
      {"translate_x",
       [](const Image& i, double v) {
         return image::affine(i, {1, 0, v, 0, 1, 0});
       }},
      {"translate_y",
       [](const Image& i, double v) {
         return image::affine(i, {1, 0, 0, 0, 1, v});
       }},
  };
  return list;
}

TEST(Augment, EveryOperationIsPillows) {
  const checkpoint::Safetensors expected = checkpoint::Safetensors::open(test::kCases + "cases.safetensors");
  const Image source = test::image_of(expected, "source");
  std::set<std::string> seen;
  for (const checkpoint::StoredTensor& stored : expected.tensors()) {
    std::istringstream in(stored.name);
    std::string kind, name, argument;
    std::getline(in, kind, '|'), std::getline(in, name, '|'), std::getline(in, argument, '|');
    if (kind != "op") continue;
    seen.insert(name);
    const Image got = operations().at(name)(source, std::stod(argument));
    EXPECT_EQ(test::largest_difference(got, test::image_of(expected, stored.name)), 0) << stored.name;
  }
  EXPECT_EQ(seen.size(), operations().size());
}

Image ramp(int width, int height) {
  Image image(width, height);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(1 + i % 251);
  return image;
}

TEST(Augment, AFlipTwiceIsNothing) {
  const Image image = ramp(7, 5);
  EXPECT_EQ(image::flip_horizontal(image::flip_horizontal(image)), image);
  EXPECT_EQ(image::flip_horizontal(image).row(2)[0], image.row(2)[3 * 6]);
}

TEST(Augment, IsAFunctionOfSeedAndStream) {
  const Image image = ramp(32, 32);
  std::set<std::vector<std::uint8_t>> different;
  for (std::uint32_t stream = 0; stream < 40; ++stream) {
    const auto run = [&] {
      Draws draws(3, stream);
      Image out = image::random_resized_crop(image, 32, 32, {}, draws);
      out = image::random_flip(image::random_shift(out, 4, draws), draws);
      return image::rand_augment(out, {}, draws);
    };
    const Image once = run();
    EXPECT_EQ(once, run());
    different.insert(once.pixels);
  }
  EXPECT_GT(different.size(), 38u);
}

// Müller & Hutter 2021, algorithm 1: an operation, then how strong it is, each as likely.
TEST(Augment, VariedOperationsHaveEveryMagnitude) {
  const Image image = ramp(16, 16);
  std::map<std::vector<std::uint8_t>, std::set<int>>
      known;  // pictures of one operation, and which magnitudes make them
  for (int magnitude = 0; magnitude <= 8; ++magnitude)
    for (std::uint32_t stream = 0; stream < 300; ++stream) {
      Draws draws(1, stream);
      known[image::rand_augment(image, {.operations = 1, .magnitude = magnitude}, draws).pixels].insert(magnitude);
    }
  std::set<int> seen;
  for (std::uint32_t stream = 0; stream < 300; ++stream) {
    Draws draws(2, stream);
    const auto found =
        known.find(image::rand_augment(image, {.operations = 1, .magnitude = 8, .varied = true}, draws).pixels);
    ASSERT_NE(found, known.end()) << stream;
    if (found->second.size() == 1) seen.insert(*found->second.begin());
  }
  EXPECT_GE(seen.size(), 7u);
}

TEST(Augment, PartsHaveTheAreaAndShapeThatWereAsked) {
  double mean = 0;
  const image::ResizedCrop options;
  constexpr int kDraws = 4000;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    Draws draws(5, i);
    const PixelBox box = image::random_part(400, 300, options, draws);
    ASSERT_TRUE(box.left >= 0 && box.top >= 0 && box.right <= 400 && box.bottom <= 300);
    const double ratio = static_cast<double>(box.width()) / box.height();
    EXPECT_GT(ratio, 0.73);
    EXPECT_LT(ratio, 1.37);
    mean += static_cast<double>(box.width()) * box.height() / (400.0 * 300) / kDraws;
  }
  EXPECT_GT(mean, 0.40);  // a little under 0.54: the largest do not fit in every shape
  EXPECT_LT(mean, 0.54);
  Draws draws(1, 1);
  const PixelBox middle = image::random_part(1000, 10, {.least_area = 1}, draws);  // no shape fits
  EXPECT_EQ(middle.width(), 13);
  EXPECT_EQ(middle.left, 493);
}

TEST(Augment, DrawsHaveTheirDistribution) {
  Draws draws(9, 0);
  constexpr int kDraws = 20000;
  double sum = 0, square = 0, beta = 0, beta_square = 0;
  std::array<int, 7> counts{};
  for (int i = 0; i < kDraws; ++i) {
    const double x = draws.normal(), b = draws.beta(0.8);
    sum += x, square += x * x, beta += b, beta_square += b * b;
    ++counts[static_cast<std::size_t>(draws.below(7))];
    ASSERT_TRUE(b >= 0 && b <= 1);
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.03);
  EXPECT_NEAR(square / kDraws, 1, 0.04);
  EXPECT_NEAR(beta / kDraws, 0.5, 0.01);
  EXPECT_NEAR(beta_square / kDraws - 0.25, 1 / (4 * (2 * 0.8 + 1)), 0.005);  // the variance of Beta(a, a)
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 7.0, 200);
}

TEST(Augment, Erasing) {
  int erased = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    Draws draws(2, i);
    const auto box = image::random_erasing(32, 32, {}, draws);
    if (!box) continue;
    ++erased;
    std::vector<float> values(3 * 32 * 32, 1.0f);
    image::erase(values, 32, 32, *box);
    EXPECT_EQ(std::count(values.begin(), values.end(), 0.0f), 3 * box->width() * box->height());
    EXPECT_EQ(values[static_cast<std::size_t>(3 * (32 * box->top + box->left))], 0.0f);
    EXPECT_EQ(values[static_cast<std::size_t>(3 * (32 * (box->bottom - 1) + box->right) - 1)], 0.0f);
    const double share = box->width() * box->height() / 1024.0;
    EXPECT_GT(share, 0.01);
    EXPECT_LT(share, 0.36);
  }
  EXPECT_NEAR(erased, 500, 60);
  std::vector<float> values(16);
  EXPECT_THROW(image::erase(values, 4, 4, {0, 0, 5, 1}), Error);
}

// DeVries & Taylor 2017, section 3: the centre is any pixel with the same probability, and the square may reach beyond
// the image.
TEST(Augment, Cutout) {
  constexpr int kSide = 8, kSize = 32;
  std::vector<int> left(kSize);
  int whole = 0;
  for (std::uint32_t i = 0; i < 4096; ++i) {
    Draws draws(3, i);
    const image::PixelBox box = image::random_cutout(kSize, kSize, kSide, draws);
    EXPECT_GE(box.left, 0);
    EXPECT_GE(box.top, 0);
    EXPECT_LE(box.right, kSize);
    EXPECT_LE(box.bottom, kSize);
    EXPECT_GE(box.width(), kSide / 2);
    EXPECT_LE(box.width(), kSide);
    whole += box.width() == kSide && box.height() == kSide;
    ++left[static_cast<std::size_t>(box.left)];
  }
  // 25 of 32 centres a direction have room for all of it, and 5 begin at the edge.
  EXPECT_NEAR(whole, 4096.0 * 25 * 25 / 1024, 130);
  EXPECT_NEAR(left[0], 4096.0 * 5 / 32, 100);
}

// As numpy.pad(mode="reflect") and torch's: c b | a b c d | c b.
TEST(Augment, ReflectedBorders) {
  image::Image row(4, 3);
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 12; ++x) row.row(y)[x] = static_cast<std::uint8_t>(10 * y + x / 3);
  const image::Image wide = image::crop(row, {-2, -1, 6, 4}, image::Border::reflected);
  const int columns[] = {2, 1, 0, 1, 2, 3, 2, 1}, rows[] = {1, 0, 1, 2, 1};
  for (int y = 0; y < 5; ++y)
    for (int x = 0; x < 8; ++x) EXPECT_EQ(wide.row(y)[3 * x], 10 * rows[y] + columns[x]);
  EXPECT_THROW(image::crop(row, {-4, 0, 4, 3}, image::Border::reflected), Error);
}

TEST(Augment, BatchesAreMixedWithTheRowInFront) {
  using image::Mix;
  std::vector<float> values = {1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4};
  std::vector<float> mixed = values;
  image::apply({.kind = Mix::Kind::mixup, .share = 0.75}, mixed, 3, 2, 2, 0, 2);
  EXPECT_EQ(mixed, (std::vector<float>{1.75, 1.75, 1.75, 1.75, 1.75, 1.75, 1.75, 1.75, 3.5, 3.5, 3.5, 3.5}));
  const Mix cut{.kind = Mix::Kind::cutmix, .share = 0.75, .box = {1, 0, 2, 1}};
  mixed = values;
  image::apply(cut, mixed, 3, 2, 2, 1, 2);  // rows that the box is not in
  EXPECT_EQ(mixed, values);
  image::apply(cut, mixed, 3, 2, 2, 0, 1);
  EXPECT_EQ(mixed, (std::vector<float>{1, 4, 1, 1, 2, 1, 2, 2, 4, 2, 4, 4}));
  mixed = {1, 2, 3, 4, 5, 6, 7, 8};  // two images of 2 x 1 with two channels
  image::apply(cut, mixed, 2, 2, 1, 0, 1);
  EXPECT_EQ(mixed, (std::vector<float>{1, 2, 7, 8, 5, 6, 3, 4}));
  EXPECT_THROW(image::apply(cut, values, 5, 2, 2, 0, 2), Error);
  EXPECT_THROW(image::apply(cut, values, 3, 2, 2, 0, 3), Error);
  EXPECT_THROW(image::apply({.kind = Mix::Kind::cutmix, .box = {0, 0, 3, 1}}, values, 3, 2, 2, 0, 2), Error);
}

TEST(Augment, MixesHaveTheSharesOfTheirBoxes) {
  using image::Mix;
  int cut = 0;
  double mean = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    Draws draws(1, i);
    const Mix mix = image::random_mix(20, 10, {.mixup = 0.8, .cutmix = 1}, draws);
    ASSERT_TRUE(mix.share >= 0 && mix.share <= 1);
    if (mix.kind == Mix::Kind::mixup) mean += mix.share;
    if (mix.kind != Mix::Kind::cutmix) continue;
    ++cut;
    const PixelBox& box = mix.box;
    ASSERT_TRUE(box.left >= 0 && box.top >= 0 && box.right <= 20 && box.bottom <= 10);
    EXPECT_NEAR(mix.share, 1 - box.width() * box.height() / 200.0, 1e-12);
  }
  EXPECT_NEAR(cut, 500, 60);
  EXPECT_NEAR(mean / (1000 - cut), 0.5, 0.05);
  Draws draws(1, 0);
  EXPECT_EQ(image::random_mix(4, 4, {}, draws).kind, Mix::Kind::none);
  EXPECT_EQ(image::random_mix(4, 4, {.mixup = 1}, draws).kind, Mix::Kind::mixup);
  EXPECT_EQ(image::random_mix(4, 4, {.cutmix = 1}, draws).kind, Mix::Kind::cutmix);
  EXPECT_THROW(image::random_mix(4, 4, {.mixup = -1}, draws), Error);
}

TEST(Augment, RefusesWhatMakesNoSense) {
  const Image image = ramp(4, 4);
  EXPECT_THROW(image::posterize(image, 9), Error);
  EXPECT_THROW(image::affine(image, {1, std::nan(""), 0, 0, 1, 0}), Error);
  EXPECT_THROW(image::rotate(image, INFINITY), Error);
  EXPECT_THROW(image::adjust_color(Image(2, 2, 1), 1), Error);
  Draws draws(1, 1);
  EXPECT_THROW(image::rand_augment(image, {.magnitude = 31}, draws), Error);
}

}  // namespace
}  // namespace attend
