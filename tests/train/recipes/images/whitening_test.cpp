// Filters that whiten: outputs of patches have no correlation and a second moment of 1, whatever the images' own.
#include "attend/train/recipes/images/whitening.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/base/random.h"

namespace attend::test {
namespace {

TEST(Whitening, OutputsAreUncorrelatedWithAVarianceOfOne) {
  constexpr std::int64_t kSide = 8, kChannels = 3, kCount = 40, kPatch = 2;
  constexpr std::size_t n = kPatch * kPatch * kChannels;
  std::vector<float> images(kCount * kSide * kSide * kChannels);
  double before = 0;  // neighbours are alike, as in photos
  for (std::size_t i = 0; i < images.size(); ++i) {
    before = 0.7 * before + 2 * (to_unit(random_word(1, 0, i)) - 0.5);
    images[i] = static_cast<float>(before);
  }
  const std::vector<float> filters = train::whitening_filters(images, kSide, kChannels, kPatch);
  ASSERT_EQ(filters.size(), 2 * n * n);
  std::vector<double> moments(n * n);
  double count = 0;
  for (std::int64_t b = 0; b < kCount; ++b)
    for (std::int64_t y = 0; y + kPatch <= kSide; ++y)
      for (std::int64_t x = 0; x + kPatch <= kSide; ++x, ++count) {
        std::vector<double> out(n);
        for (std::size_t o = 0; o < n; ++o)
          for (std::size_t i = 0; i < n; ++i) {
            const auto c = static_cast<std::int64_t>(i) % kChannels,
                       dx = static_cast<std::int64_t>(i) / kChannels % kPatch,
                       dy = static_cast<std::int64_t>(i) / (kChannels * kPatch);
            out[o] += static_cast<double>(filters[o * n + i]) *
                      static_cast<double>(
                          images[static_cast<std::size_t>(((b * kSide + y + dy) * kSide + x + dx) * kChannels + c)]);
          }
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t j = 0; j < n; ++j) moments[i * n + j] += out[i] * out[j];
      }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) EXPECT_NEAR(moments[i * n + j] / count, i == j ? 1 : 0, 0.01) << i << " " << j;
  for (std::size_t i = 0; i < n * n; ++i) EXPECT_EQ(filters[n * n + i], -filters[i]);
  EXPECT_THROW(train::whitening_filters(images, 7, 3, 2), Error);
}

// Images whose third channel hardly varies: its filters would amplify it a thousandfold, and a floor bounds that.
TEST(Whitening, AFloorBoundsWhatDirectionsWithoutVarianceAreAmplifiedBy) {
  std::vector<float> images;
  for (std::uint64_t i = 0; i < 20 * 6 * 6 * 3; ++i)
    images.push_back((i % 3 == 2 ? 1e-3f : 1.0f) * (to_unit(random_word(2, 0, i)) - 0.5f));
  const auto longest = [&](double floor) {
    double most = 0;
    const std::vector<float> filters = train::whitening_filters(images, 6, 3, 2, floor);
    for (std::size_t o = 0; o < filters.size(); o += 12) {
      double squares = 0;
      for (std::size_t i = o; i < o + 12; ++i)
        squares += static_cast<double>(filters[i]) * static_cast<double>(filters[i]);
      most = std::max(most, std::sqrt(squares));
    }
    return most;
  };
  EXPECT_GT(longest(1e-9), 900);
  EXPECT_NEAR(longest(0.01), 10, 0.1);
}

}  // namespace
}  // namespace attend::test
