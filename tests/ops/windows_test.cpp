// Shifted windows: who may see whom, by where the places stood before the shift; and what ops on images refuse.
#include "attend/ops/windows.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/ops/convolution.h"
#include "attend/ops/image_norm.h"
#include "attend/ops/pooling.h"
#include "attend/ops/resize.h"
#include "tests/ops/devices.h"

namespace attend::test {
namespace {

TEST(ShiftedWindows, PlacesThatCameRoundAreHidden) {
  for (std::int64_t shift : {0, 1, 2}) {
    const std::int64_t H = 6, W = 9, w = 3, heads = 2;
    const std::vector<float> mask =
        ops::shifted_window_mask({.height = H, .width = W, .window = w, .shift = shift, .heads = heads});
    ASSERT_EQ(mask.size(), static_cast<std::size_t>(H / w * W / w * heads * w * w * w * w));
    std::size_t at = 0;
    for (std::int64_t top = 0; top < H; top += w)
      for (std::int64_t left = 0; left < W; left += w)
        for (std::int64_t head = 0; head < heads; ++head)
          for (std::int64_t t = 0; t < w * w; ++t)
            for (std::int64_t s = 0; s < w * w; ++s) {
              const auto round = [&](std::int64_t place) {
                return std::pair{top + place / w + shift >= H, left + place % w + shift >= W};
              };
              ASSERT_EQ(mask[at++] == 0, round(t) == round(s)) << top << " " << left << " " << t << " " << s;
            }
  }
}

TEST(Images, BadShapesAreRefused) {
  const Tensor x = make_tensor(cpu(), {1, 4, 4, 6}, DType::f32), weight = make_tensor(cpu(), {4, 3, 3, 6}, DType::f32);
  EXPECT_THROW(ops::conv2d(x.reshape({4, 4, 6}), weight), Error);
  EXPECT_THROW(ops::conv2d(x, weight, {}, {.groups = 2}), Error);
  EXPECT_THROW(ops::conv2d(x, weight, make_tensor(cpu(), {3}, DType::f32)), Error);
  EXPECT_THROW(ops::conv2d(x, weight, {}, {.stride = {0, 1}}), Error);
  EXPECT_THROW(ops::conv2d(x, weight, {}, {.dilation = {2, 2}}), Error);  // a window of 5 in an image of 4
  EXPECT_THROW(ops::conv_transpose2d(x, weight), Error);
  EXPECT_THROW(ops::max_pool2d(x, {.kernel = {2, 2}, .stride = {2, 2}, .padding = {2, 2}}), Error);
  EXPECT_THROW(ops::max_pool2d(x, {.kernel = {5, 5}, .stride = {1, 1}}), Error);
  EXPECT_THROW(ops::adaptive_avg_pool2d(x, {0, 1}), Error);
  EXPECT_THROW(ops::resize(x, {0, 4}), Error);
  EXPECT_THROW(ops::group_norm(x, {}, {}, 4), Error);
  EXPECT_THROW(ops::batch_norm(x, {}, {}, {}, {.frozen = true}), Error);
  EXPECT_THROW(ops::batch_norm(x.reshape({1, 96}), {}, {}, {}), Error);
  EXPECT_THROW(ops::batch_norm(x, {}, {}, {}, {}, Activation::relu, x.reshape({16, 6})), Error);
  EXPECT_THROW(ops::window_partition(x, 3), Error);
  EXPECT_THROW(ops::window_reverse(x.reshape({4, 4, 6}), 2, 4, 6), Error);
  EXPECT_THROW(ops::roll(x, {{4, 1}}), Error);
}

}  // namespace
}  // namespace attend::test
