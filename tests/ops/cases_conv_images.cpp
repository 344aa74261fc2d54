// What stands around convolutions: pooling, resizing, rolls and windows.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "attend/ops/pooling.h"
#include "attend/ops/resize.h"
#include "attend/ops/windows.h"
#include "tests/ops/cases.h"

namespace attend::test {

namespace {

// ---- Pooling. adaptive: options.kernel is the size of the result.
Array pool_reference(const Array& x, PoolKind kind, const ops::PoolOptions& how) {
  const bool adaptive = kind == PoolKind::adaptive;
  const auto results = [&](std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    return adaptive ? kernel : (size + 2 * padding - kernel) / stride + 1;
  };
  const std::int64_t H = x.dim(1), W = x.dim(2);
  Array y({x.dim(0), results(H, how.kernel.h, how.stride.h, how.padding.h),
           results(W, how.kernel.w, how.stride.w, how.padding.w), x.dim(3)});
  const auto range = [&](std::int64_t o, std::int64_t size, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                         std::int64_t padding) {
    if (!adaptive) return std::pair{o * stride - padding, o * stride - padding + kernel};
    return std::pair{o * size / out, ((o + 1) * size + out - 1) / out};
  };
  for (std::int64_t b = 0; b < y.dim(0); ++b)
    for (std::int64_t oh = 0; oh < y.dim(1); ++oh)
      for (std::int64_t ow = 0; ow < y.dim(2); ++ow)
        for (std::int64_t c = 0; c < y.dim(3); ++c) {
          const auto [top, bottom] = range(oh, H, y.dim(1), how.kernel.h, how.stride.h, how.padding.h);
          const auto [left, right] = range(ow, W, y.dim(2), how.kernel.w, how.stride.w, how.padding.w);
          double sum = 0, largest = -1e300, count = 0;
          for (std::int64_t h = top; h < bottom; ++h)
            for (std::int64_t w = left; w < right; ++w) {
              const bool inside = h >= 0 && w >= 0 && h < H && w < W;
              const bool padded = h < H + how.padding.h && w < W + how.padding.w;
              if (inside || (how.counts_padding && padded)) ++count;
              if (!inside) continue;
              sum += x(b, h, w, c), largest = std::max(largest, x(b, h, w, c));
            }
          y(b, oh, ow, c) = kind == PoolKind::max ? largest : sum / count;
        }
  return y;
}

Case pool_case(const Shape& x, PoolKind kind, const ops::PoolOptions& how) {
  const char* kinds[] = {"max_pool2d", "avg_pool2d", "adaptive_avg_pool2d"};
  std::string name = with_shape(kinds[static_cast<int>(kind)], x);
  name += fmt::format("_k{}{}_s{}{}_p{}{}", how.kernel.h, how.kernel.w, how.stride.h, how.stride.w, how.padding.h,
                      how.padding.w);
  if (!how.counts_padding) name += "_inside";
  return {
      .name = name,
      .inputs = {kind == PoolKind::max ? distinct(x) : reals(x)},
      .run = [kind, how](std::span<const Tensor> in) -> Tensors {
        if (kind == PoolKind::max) return {ops::max_pool2d(in[0], how)};
        if (kind == PoolKind::average) return {ops::avg_pool2d(in[0], how)};
        return {ops::adaptive_avg_pool2d(in[0], how.kernel)};
      },
      .reference = [kind, how](std::span<const Array> in) { return Arrays{pool_reference(in[0], kind, how)}; },
  };
}

// ---- Resizing, by the definition: weights of every place for every result along one axis.
std::vector<std::vector<double>> resize_weights(std::int64_t size, std::int64_t results, const Resizing& how) {
  const auto last = static_cast<double>(size - 1);
  const auto cubic = [](double x) {
    constexpr double a = -0.75;
    x = std::abs(x);
    if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
    return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0.0;
  };
  std::vector<std::vector<double>> all(static_cast<std::size_t>(results),
                                       std::vector<double>(static_cast<std::size_t>(size)));
  for (std::int64_t o = 0; o < results; ++o) {
    auto& weights = all[static_cast<std::size_t>(o)];
    const auto add = [&](double place, double weight) {
      weights[static_cast<std::size_t>(std::min(std::max(place, 0.0), last))] += weight;
    };
    const auto n = static_cast<double>(results), s = static_cast<double>(size), at = static_cast<double>(o);
    double from = how.align_corners ? (results > 1 ? at * (s - 1) / (n - 1) : 0) : (at + 0.5) * s / n - 0.5;
    if (how.mode == ResizeMode::nearest) {
      add(std::floor(static_cast<double>(o * size / results)), 1);
    } else if (how.mode == ResizeMode::bilinear) {
      from = std::max(from, 0.0);
      add(std::floor(from), 1 - (from - std::floor(from))), add(std::floor(from) + 1, from - std::floor(from));
    } else {
      for (int k = -1; k <= 2; ++k) add(std::floor(from) + k, cubic(from - std::floor(from) - k));
    }
  }
  return all;
}

Case resize_case(const Shape& x, const Extent2& size, const Resizing& how) {
  const char* modes[] = {"nearest", "bilinear", "bicubic"};
  return {
      .name = with_shape("resize", x) + fmt::format("_to_{}_{}_{}", size.h, size.w, modes[static_cast<int>(how.mode)]) +
              (how.align_corners ? "_align" : ""),
      .inputs = {reals(x)},
      .run = [size, how](std::span<const Tensor> in) -> Tensors { return {ops::resize(in[0], size, how)}; },
      .reference =
          [size, how](std::span<const Array> in) {
            Array y({in[0].dim(0), size.h, size.w, in[0].dim(3)});
            const auto down = resize_weights(in[0].dim(1), size.h, how),
                       across = resize_weights(in[0].dim(2), size.w, how);
            for (std::int64_t i = 0; i < y.size(); ++i) {
              const std::int64_t c = i % y.dim(3), w = i / y.dim(3) % size.w, h = i / y.dim(3) / size.w % size.h;
              const std::int64_t b = i / y.dim(3) / size.w / size.h;
              for (std::int64_t p = 0; p < in[0].dim(1); ++p)
                for (std::int64_t q = 0; q < in[0].dim(2); ++q)
                  y[i] += down[static_cast<std::size_t>(h)][static_cast<std::size_t>(p)] *
                          across[static_cast<std::size_t>(w)][static_cast<std::size_t>(q)] * in[0](b, p, q, c);
            }
            return Arrays{y};
          },
  };
}

// ---- Moving places.
Case roll_case() {
  return {
      .name = "roll_2_4_5_3",
      .inputs = {reals({2, 4, 5, 3})},
      .run = [](std::span<const Tensor> in) -> Tensors {
        return {ops::roll(in[0], {{1, 1}, {2, -7}})};
      },
      .reference =
          [](std::span<const Array> in) {
            Array y(in[0].shape);
            for (std::int64_t b = 0; b < 2; ++b)
              for (std::int64_t h = 0; h < 4; ++h)
                for (std::int64_t w = 0; w < 5; ++w)
                  for (std::int64_t c = 0; c < 3; ++c) y(b, (h + 1) % 4, (w + 3) % 5, c) = in[0](b, h, w, c);
            return Arrays{y};
          },
  };
}

Array windows_reference(const Array& x, std::int64_t w) {
  const std::int64_t down = x.dim(1) / w, across = x.dim(2) / w;
  Array y({x.dim(0) * down * across, w * w, x.dim(3)});
  for (std::int64_t b = 0; b < x.dim(0); ++b)
    for (std::int64_t i = 0; i < x.dim(1); ++i)
      for (std::int64_t j = 0; j < x.dim(2); ++j)
        for (std::int64_t c = 0; c < x.dim(3); ++c)
          y((b * down + i / w) * across + j / w, i % w * w + j % w, c) = x(b, i, j, c);
  return y;
}

Case partition_case() {
  return {
      .name = "window_partition_2_4_6_3",
      .inputs = {reals({2, 4, 6, 3})},
      .run = [](std::span<const Tensor> in) -> Tensors { return {ops::window_partition(in[0], 2)}; },
      .reference = [](std::span<const Array> in) { return Arrays{windows_reference(in[0], 2)}; },
  };
}

// Cutting what was put together gives it back; the two are checked against one reference.
Case reverse_case() {
  return {
      .name = "window_reverse_12_4_3",
      .inputs = {reals({12, 4, 3})},
      .run =
          [](std::span<const Tensor> in) {
            const Tensor whole = ops::window_reverse(in[0], 2, 4, 6);
            return Tensors{whole, ops::window_partition(whole, 2)};
          },
      .reference =
          [](std::span<const Array> in) {
            Array whole({2, 4, 6, 3});
            for (std::int64_t n = 0; n < 12; ++n)
              for (std::int64_t t = 0; t < 4; ++t)
                for (std::int64_t c = 0; c < 3; ++c)
                  whole(n / 6, n % 6 / 3 * 2 + t / 2, n % 3 * 2 + t % 2, c) = in[0](n, t, c);
            return Arrays{whole, in[0]};
          },
  };
}

Case relative_bias_case() {
  std::vector<std::int32_t> positions = ops::relative_positions(3);
  return {
      .name = "relative_position_bias_3",
      .inputs = {weights({25, 4}), ints(positions)},
      .run = [](std::span<const Tensor> in) -> Tensors { return {ops::relative_position_bias(in[0], in[1])}; },
      .reference =
          [](std::span<const Array> in) {
            Array y({1, 4, 9, 9});
            for (std::int64_t head = 0; head < 4; ++head)
              for (std::int64_t t = 0; t < 9; ++t)
                for (std::int64_t s = 0; s < 9; ++s)
                  y(0, head, t, s) = in[0]((t / 3 - s / 3 + 2) * 5 + t % 3 - s % 3 + 2, head);
            return Arrays{y};
          },
  };
}

}  // namespace

static void add_image_cases(std::vector<Case>& cases) {
  using ops::PoolOptions;
  for (const PoolOptions& how : {PoolOptions{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
                                 PoolOptions{.kernel = {2, 2}, .stride = {2, 2}},
                                 PoolOptions{.kernel = {2, 3}, .stride = {1, 2}, .padding = {1, 0}}}) {
    cases.push_back(pool_case({2, 6, 7, 5}, PoolKind::max, how));
    cases.push_back(pool_case({2, 6, 7, 5}, PoolKind::average, how));
    PoolOptions inside = how;
    inside.counts_padding = false;
    if (how.padding.h > 0) cases.push_back(pool_case({2, 6, 7, 5}, PoolKind::average, inside));
  }
  for (const Extent2& size : {Extent2{1, 1}, Extent2{3, 5}, Extent2{4, 4}, Extent2{9, 8}})
    cases.push_back(pool_case({2, 6, 7, 3}, PoolKind::adaptive, {.kernel = size}));
  cases.push_back(pool_case({0, 6, 6, 3}, PoolKind::max, {.kernel = {2, 2}, .stride = {2, 2}}));

  for (ResizeMode mode : {ResizeMode::nearest, ResizeMode::bilinear, ResizeMode::bicubic})
    for (bool align : {false, true}) {
      if (mode == ResizeMode::nearest && align) continue;
      for (const Extent2& size : {Extent2{9, 11}, Extent2{3, 2}, Extent2{1, 6}, Extent2{5, 6}, Extent2{10, 18}})
        cases.push_back(resize_case({2, 5, 6, 3}, size, {mode, align}));
      cases.push_back(resize_case({1, 1, 2, 3}, {4, 5}, {mode, align}));
    }

  for (const Case& one : {roll_case(), partition_case(), reverse_case(), relative_bias_case()}) cases.push_back(one);
}

const CaseList kImageCases("image", add_image_cases);

}  // namespace attend::test
