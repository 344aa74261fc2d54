// DiffAugment: colours against the paper's formulas in double, pixels by where they come from, gradients by
// differences.
#include "attend/train/recipes/drawing/diff_augment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/random.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/reduce.h"
#include "attend/tensor/pass.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using train::DiffAugment;
using train::DiffAugmentOptions;

constexpr std::int64_t kSide = 8, kImages = 5;
constexpr std::size_t kPlaces = kSide * kSide, kEach = 3 * kPlaces;

std::vector<float> some_images() {
  std::vector<float> values;
  for (std::size_t i = 0; i < kImages * kEach; ++i) values.push_back(2 * to_unit(random_word(3, 1, i)) - 1);
  return values;
}

DiffAugment::Draws draws_of(const DiffAugmentOptions& options) {
  return DiffAugment::draw(options, kSide, 7, 100, kImages);
}

std::vector<float> augmented(const DiffAugmentOptions& options, const std::vector<float>& values) {
  const DiffAugment augment(options, cpu(), kImages, kSide);
  augment.put(draws_of(options));
  Pass pass(cpu());
  pass.begin({});
  return download(augment(pass.input(tensor_of(cpu(), {kImages, kSide, kSide, 3}, values))));
}

// Saturation and contrast keep the grey of a pixel and the mean of an image, and brightness adds to all.
TEST(DiffAugmentation, ColorsFollowThePaper) {
  const std::vector<float> images = some_images(), factors = draws_of({.color = true}).colors;
  const std::vector<float> seen = augmented({.color = true}, images);
  ASSERT_EQ(factors.size(), 5u * kImages);
  for (std::size_t b = 0; b < kImages; ++b) {
    const auto brightness = static_cast<double>(factors[b]), saturation = static_cast<double>(factors[kImages + b]),
               contrast = static_cast<double>(factors[3 * kImages + b]);
    EXPECT_LE(std::abs(brightness), 0.5);
    EXPECT_TRUE(saturation >= 0 && saturation <= 2) << saturation;
    EXPECT_TRUE(contrast >= 0.5 && contrast <= 1.5) << contrast;
    std::vector<double> x(images.begin() + static_cast<std::ptrdiff_t>(b * kEach),
                          images.begin() + static_cast<std::ptrdiff_t>((b + 1) * kEach));
    double mean = 0;
    for (std::size_t p = 0; p < kEach; p += 3) {
      const double grey = (x[p] + x[p + 1] + x[p + 2]) / 3 + brightness;
      for (std::size_t c = p; c < p + 3; ++c) x[c] = (x[c] + brightness - grey) * saturation + grey;
      mean += grey / static_cast<double>(kPlaces);
    }
    for (std::size_t i = 0; i < kEach; ++i)
      EXPECT_NEAR(seen[b * kEach + i], (x[i] - mean) * contrast + mean, 1e-5) << b << " " << i;
  }
}

TEST(DiffAugmentation, TranslationMovesByUpToAnEighth) {
  const std::vector<float> images = some_images(), seen = augmented({.translation = true}, images);
  const auto at = [&](const std::vector<float>& values, std::size_t b, std::int64_t y, std::int64_t x) {
    const bool inside = y >= 0 && y < kSide && x >= 0 && x < kSide;
    return inside ? values[b * kEach + static_cast<std::size_t>(3 * (y * kSide + x))] : 0.0f;
  };
  for (std::size_t b = 0; b < kImages; ++b) {
    int fitting = 0;
    for (std::int64_t down = -1; down <= 1; ++down)
      for (std::int64_t right = -1; right <= 1; ++right) {
        bool fits = true;
        for (std::int64_t y = 0; y < kSide; ++y)
          for (std::int64_t x = 0; x < kSide; ++x)
            fits = fits && at(seen, b, y, x) == at(images, b, y + down, x + right);
        fitting += fits;
      }
    EXPECT_EQ(fitting, 1) << b;
  }
}

TEST(DiffAugmentation, CutoutBlanksASquareOfHalfTheSide) {
  const std::vector<float> images = some_images(), seen = augmented({.cutout = true}, images);
  for (std::size_t b = 0; b < kImages; ++b) {
    std::set<std::size_t> rows, columns;
    std::size_t black = 0;
    for (std::size_t p = 0; p < kPlaces; ++p) {
      const std::size_t i = b * kEach + 3 * p;
      if (seen[i] == 0 && seen[i + 1] == 0 && seen[i + 2] == 0) {
        rows.insert(p / kSide), columns.insert(p % kSide), ++black;
      } else {
        for (std::size_t c = i; c < i + 3; ++c) EXPECT_EQ(seen[c], images[c]);
      }
    }
    EXPECT_EQ(black, rows.size() * columns.size());
    EXPECT_TRUE(rows.size() <= kSide / 2 && columns.size() <= kSide / 2 && black > 0) << rows.size();
  }
}

TEST(DiffAugmentation, EveryImageHasItsOwnChangeAndItsNumberDecidesIt) {
  const DiffAugmentOptions all{.color = true, .translation = true, .cutout = true};
  const DiffAugment::Draws draws = draws_of(all), again = draws_of(all);
  EXPECT_EQ(draws.colors, again.colors);
  EXPECT_EQ(draws.pixels, again.pixels);
  EXPECT_EQ(std::set<float>(draws.colors.begin(), draws.colors.begin() + kImages).size(), kImages);
  const DiffAugment::Draws later = DiffAugment::draw(all, kSide, 7, 103, 2);
  EXPECT_EQ(later.colors[0], draws.colors[3]);
  for (std::size_t p = 0; p < kPlaces; ++p) {
    const std::int32_t from = draws.pixels[3 * kPlaces + p];
    EXPECT_EQ(later.pixels[p], from ? from - static_cast<std::int32_t>(3 * kPlaces) : 0);
  }
}

TEST(DiffAugmentation, GradientsFlowToTheImages) {
  const DiffAugmentOptions all{.color = true, .translation = true, .cutout = true};
  const std::vector<float> images = some_images();
  const DiffAugment augment(all, cpu(), kImages, kSide);
  augment.put(draws_of(all));
  Pass pass(cpu(), {.recording = true});
  pass.begin({});
  const Tensor x = pass.variable(tensor_of(cpu(), {kImages, kSide, kSide, 3}, images));
  const Tensor weights = tensor_of(cpu(), {kImages, kSide, kSide, 3}, some_images());
  const Tensor product = ops::multiply(augment(x), pass.input(weights));
  pass.backward(ops::sum(product.reshape({product.size()}), 0));
  const std::vector<float> gradient = download(gradient_of(x)), factors = some_images();
  const auto value = [&](const std::vector<float>& at) {
    const std::vector<float> seen = augmented(all, at);
    double sum = 0;
    for (std::size_t i = 0; i < seen.size(); ++i) sum += static_cast<double>(seen[i]) * static_cast<double>(factors[i]);
    return sum;
  };
  for (std::size_t i = 0; i < images.size(); i += 7) {
    std::vector<float> more = images, less = images;  // the changes are linear, so that a long step is exact
    more[i] += 1, less[i] -= 1;
    EXPECT_NEAR(gradient[i], (value(more) - value(less)) / 2, 1e-4) << i;
  }
}

TEST(DiffAugmentation, NamesAreRead) {
  const DiffAugmentOptions two = train::diff_augment_named("translation,cutout", "x");
  EXPECT_TRUE(two.translation && two.cutout && !two.color);
  EXPECT_FALSE(train::diff_augment_named("", "x").any());
  for (const char* wrong : {"mirror", "color,,cutout", "color cutout", ","})
    EXPECT_THROW(train::diff_augment_named(wrong, "x"), Error) << wrong;
}

}  // namespace
}  // namespace attend::test
