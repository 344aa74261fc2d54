// Views of an image at test time, by numbers written out.
#include "attend/train/recipes/images/test_time_views.h"

#include <gtest/gtest.h>

#include <vector>

#include "attend/base/error.h"

namespace attend::test {
namespace {

const std::vector<float> kImage = {1, 2, 3, 4, 5, 6, 7, 8, 9};  // 3 x 3, one channel

TEST(TestTimeViews, MirrorExchangesLeftAndRight) {
  EXPECT_EQ(train::mirrored(kImage, {3, 3}, 1), (std::vector<float>{3, 2, 1, 6, 5, 4, 9, 8, 7}));
  EXPECT_EQ(train::mirrored(std::vector<float>{1, 2, 3, 4, 5, 6}, {1, 2}, 3), (std::vector<float>{4, 5, 6, 1, 2, 3}));
}

TEST(TestTimeViews, AMovedImageIsReflectedAtItsBorder) {
  EXPECT_EQ(train::moved(kImage, {3, 3}, 1, {-1, -1}), (std::vector<float>{5, 4, 5, 2, 1, 2, 5, 4, 5}));
  EXPECT_EQ(train::moved(kImage, {3, 3}, 1, {1, 1}), (std::vector<float>{5, 6, 5, 8, 9, 8, 5, 6, 5}));
  EXPECT_THROW(train::moved(kImage, {3, 3}, 1, {3, 0}), Error);
  EXPECT_THROW(train::moved(kImage, {3, 3}, 1, {0, -3}), Error);
}

TEST(TestTimeViews, HalfOfTheMeanIsOfTheImageItself) {
  const auto corner = [](const std::vector<float>& image) { return std::vector<float>{image[0]}; };
  const auto mean = [&](const train::TestTimeOptions& options) {
    return train::mean_over_views(kImage, {3, 3}, 1, options, corner).at(0);
  };
  EXPECT_EQ(mean({}), 1);
  EXPECT_EQ(mean({.flip = true}), (1 + 3) / 2.0f);
  EXPECT_EQ(mean({.shift = 1}), 1 / 2.0f + (5 + 5) / 4.0f);
  EXPECT_EQ(mean({.flip = true, .shift = 1}), (1 + 3) / 4.0f + (5 + 5 + 5 + 5) / 8.0f);
}

}  // namespace
}  // namespace attend::test
