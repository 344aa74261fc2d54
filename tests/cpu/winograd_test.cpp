// Winograd's convolutions against loops in double, with every f32 kernel of this machine.
#include "attend/cpu/winograd.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "attend/cpu/features.h"
#include "attend/cpu/gemm/kernel.h"
#include "tests/cpu/gemm_buffer.h"

namespace attend::cpu {
namespace {

using test::Buffer;

struct WinogradCase {
  std::int64_t batch, height, width, channels, outputs;
  Extent2 padding = {1, 1};

  Windows windows(const void* x) const {
    return {.x = static_cast<const std::byte*>(x),
            .window = {.padding = padding},
            .height = height,
            .width = width,
            .channels = channels,
            .results_h = images::windows(height, 3, 1, padding.h),
            .results_w = images::windows(width, 3, 1, padding.w),
            .kernel_h = 3,
            .kernel_w = 3,
            .inputs = channels};
  }
  std::int64_t pixels() const { return windows(nullptr).results_h * windows(nullptr).results_w; }
  std::int64_t image() const { return height * width * channels; }
};

// Sizes that tiles cover and such that they do not, all paddings, channels that fill vectors and such that do not.
std::vector<WinogradCase> winograd_cases() {
  return {{1, 7, 7, 64, 64},          {2, 14, 14, 65, 20},        {1, 13, 9, 3, 70},
          {3, 13, 9, 64, 33},         {1, 1, 1, 16, 16},          {1, 4, 5, 5, 1},
          {2, 6, 31, 20, 24, {0, 2}}, {1, 8, 3, 130, 40, {2, 0}}, {1, 20, 20, 200, 17},  // several blocks of tiles
          {1, 60, 60, 160, 12}};                                                         // several chunks
}

// Result p of output o without bias, and the sum of its weights' absolute values.
struct Exact {
  double value, weights;
};

Exact exact(const WinogradCase& c, const Buffer& x, const Buffer& w, std::int64_t p, std::int64_t o) {
  const Windows g = c.windows(nullptr);
  const std::int64_t ow = p % g.results_w, oh = p / g.results_w % g.results_h, b = p / c.pixels();
  Exact sum{0, 0};
  for (std::int64_t k = 0; k < 9 * c.channels; ++k) {
    const std::int64_t tap = k / c.channels, h = oh - c.padding.h + tap / 3, at = ow - c.padding.w + tap % 3;
    sum.weights += std::abs(w.at(o, k));
    if (h < 0 || at < 0 || h >= c.height || at >= c.width) continue;
    sum.value += w.at(o, k) * x.at(0, b * c.image() + (h * c.width + at) * c.channels + k % c.channels);
  }
  return sum;
}

void check_case(const detail::Kernel& kernel, WinogradTile tile, const WinogradCase& c, ThreadPool& pool) {
  const std::int64_t m = c.batch * c.pixels(), n = c.outputs, k = 9 * c.channels;
  Buffer x(1, c.batch * c.image(), DType::f32, 1, 0), w(n, k, DType::f32, 2, 0), bias(1, n, DType::f32, 3, 0);
  Buffer y(m, n, DType::f32, 4), residual(m, n, DType::f32, 5);
  const PackedWeights packed = PackedWeights::pack({w.data(), w.dtype, w.stride}, n, k, DType::f32, Precision::exact);
  const WinogradWeights weights(packed, tile, pool, &kernel);
  WinogradProduct product{.batch = c.batch, .windows = c.windows(x.data()), .weights = &weights};
  product.out = {.c = y.data(),
                 .c_stride = y.stride,
                 .bias = bias.data(),
                 .activation = Activation::relu,
                 .residual = residual.data()};
  winograd(product, pool);
  for (std::int64_t p = 0; p < m; ++p)
    for (std::int64_t o = 0; o<n; o += n> 4 ? 3 : 1) {
      const Exact want = exact(c, x, w, p, o);
      const double value = std::max(0.0, want.value + bias.at(0, o) + residual.at(p, o));
      ASSERT_NEAR(y.now(p, o), value, 5e-7 * want.weights + 1e-6) << p << ", " << o;
    }
  // Between the rows nothing is written.
  for (std::int64_t p = 0; p < m; ++p) ASSERT_EQ(y.now(p, n), y.at(p, n)) << p;

  // The last image alone, on one thread, has the same bits.
  Buffer alone(c.pixels(), n, DType::f32, 6);
  ThreadPool one(1);
  product.batch = 1;
  product.windows.x += (c.batch - 1) * c.image() * 4;
  product.out.c = alone.data();
  product.out.residual = static_cast<const float*>(residual.data()) + (m - c.pixels()) * residual.stride;
  winograd(product, one);
  for (std::int64_t p = 0; p < c.pixels(); ++p)
    for (std::int64_t o = 0; o < n; ++o) ASSERT_EQ(alone.now(p, o), y.now(m - c.pixels() + p, o)) << p << ", " << o;
}

TEST(Winograd, AgainstLoops) {
  ThreadPool pool(2);
  for (const char* cap : {"generic", "avx2", "avx512", "neon"})
    for (const WinogradTile tile : {WinogradTile::two, WinogradTile::four})
      for (const WinogradCase& c : winograd_cases()) {
        SCOPED_TRACE(fmt::format("{}, tile {}, {} x {} x {}, {} outputs", cap, static_cast<int>(tile), c.height,
                                 c.width, c.channels, c.outputs));
        check_case(*detail::choose_kernels(capped(features(), cap)).f32, tile, c, pool);
      }
}

TEST(Winograd, IsForWindowsOfThreeAndStrideOne) {
  const auto windows = [](std::int64_t size, std::int64_t channels) {
    return WinogradCase{1, size, size, channels, channels}.windows(nullptr);
  };
  constexpr double kSpeed = 30;
  EXPECT_TRUE(winograd_tile(windows(56, 64), 64, kSpeed) == WinogradTile::four);
  EXPECT_TRUE(winograd_tile(windows(28, 128), 128, kSpeed) == WinogradTile::four);
  EXPECT_FALSE(winograd_tile(windows(56, 64), 64, 1000));  // a faster product
  EXPECT_FALSE(winograd_tile(windows(56, 3), 64, kSpeed));
  EXPECT_FALSE(winograd_tile(windows(1, 512), 512, kSpeed));
  Windows other = windows(56, 64);
  other.window.stride = {2, 2};
  EXPECT_FALSE(winograd_tile(other, 64, kSpeed));
  other = windows(56, 64);
  other.window.dilation = {1, 2};
  EXPECT_FALSE(winograd_tile(other, 64, kSpeed));
  other = windows(56, 64);
  other.dtype = DType::bf16;
  EXPECT_FALSE(winograd_tile(other, 64, kSpeed));
  other = windows(56, 64);
  other.kernel_h = 5;
  EXPECT_FALSE(winograd_tile(other, 64, kSpeed));
}

}  // namespace
}  // namespace attend::cpu
