// Convolutions computed as the GPU's kernels do it, stage by stage, with a copy engine after its documentation
// (cuTensorMapEncodeIm2col, and the PTX manual on im2col mode), against plain loops. All numbers are small integers, so
// the sums are exact.
#include "attend/tensor/window_walk.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace attend::test {
namespace {

using namespace images;
using Numbers = std::vector<double>;

constexpr int kBlock = 64;  // channels that one copy takes

struct Shape4 {
  int images, height, width, channels;
  std::size_t at(int n, int h, int w, int c) const {
    return ((static_cast<std::size_t>(n) * height + h) * width + w) * channels + c;
  }
  std::size_t size() const { return at(images, 0, 0, 0); }
};

Numbers numbers(std::size_t count, unsigned seed) {
  Numbers x(count);
  for (double& each : x) seed = seed * 1664525 + 1013904223, each = static_cast<double>(seed >> 28) - 8;
  return x;
}

struct Layer {
  int images, height, width, channels, results;
  Extent2 kernel, stride = {}, padding = {0, 0}, dilation = {};

  int out_h() const { return static_cast<int>(windows(height, kernel.h, stride.h, padding.h, dilation.h)); }
  int out_w() const { return static_cast<int>(windows(width, kernel.w, stride.w, padding.w, dilation.w)); }
  Shape4 x() const { return {images, height, width, channels}; }
  Shape4 y() const { return {images, out_h(), out_w(), results}; }
  Shape4 weight() const { return {results, static_cast<int>(kernel.h), static_cast<int>(kernel.w), channels}; }
  int taps() const { return static_cast<int>(kernel.h * kernel.w); }
  std::string name() const {
    return std::to_string(height) + "x" + std::to_string(width) + "x" + std::to_string(channels) + " kernel " +
           std::to_string(kernel.h) + "x" + std::to_string(kernel.w) + " stride " + std::to_string(stride.h) + "x" +
           std::to_string(stride.w) + " padding " + std::to_string(padding.h) + "x" + std::to_string(padding.w) +
           " dilation " + std::to_string(dilation.h) + "x" + std::to_string(dilation.w);
  }

  // body(result's image, row and column, tap's row and column, place's row and column) where the window meets the
  // image.
  template <class Body>
  void each_product(Body&& body) const {
    for (int n = 0; n < images; ++n)
      for (int oh = 0; oh < out_h(); ++oh)
        for (int ow = 0; ow < out_w(); ++ow)
          for (int i = 0; i < kernel.h; ++i)
            for (int j = 0; j < kernel.w; ++j) {
              const int h = static_cast<int>(oh * stride.h - padding.h + i * dilation.h);
              const int w = static_cast<int>(ow * stride.w - padding.w + j * dilation.w);
              if (h >= 0 && w >= 0 && h < height && w < width) body(n, oh, ow, i, j, h, w);
            }
  }
  WindowWalk forward() const {
    const auto axis = [](int size, int count, auto k, auto s, auto p, auto d) {
      return forward_walk(size, count, static_cast<int>(k), static_cast<int>(s), static_cast<int>(p),
                          static_cast<int>(d));
    };
    return {images, axis(height, out_h(), kernel.h, stride.h, padding.h, dilation.h),
            axis(width, out_w(), kernel.w, stride.w, padding.w, dilation.w)};
  }
  WindowWalk input(int rest_h, int rest_w) const {
    const auto axis = [](int size, int count, auto k, auto s, auto p, auto d, int rest) {
      return input_walk(size, count, static_cast<int>(k), static_cast<int>(s), static_cast<int>(p), static_cast<int>(d),
                        rest);
    };
    return {images, axis(height, out_h(), kernel.h, stride.h, padding.h, dilation.h, rest_h),
            axis(width, out_w(), kernel.w, stride.w, padding.w, dilation.w, rest_w)};
  }
};

// The copy engine in im2col mode. It knows corners and steps, and nothing of windows.
struct Engine {
  const Numbers& data;
  Shape4 sizes;
  std::size_t pixel, line, image;  // numbers from one to the next
  int lower_h, lower_w, upper_h, upper_w, step_h, step_w;

  Engine(const Numbers& from, const Shape4& shape, const WindowWalk& walk)
      : data(from),
        sizes(shape),
        pixel(static_cast<std::size_t>(shape.channels)),
        line(pixel * shape.width),
        image(line * shape.height),
        lower_h(walk.h.walk.lower()),
        lower_w(walk.w.walk.lower()),
        upper_h(walk.h.walk.upper()),
        upper_w(walk.w.walk.upper()),
        step_h(walk.h.walk.step),
        step_w(walk.w.walk.step) {}

  // [pixels][kBlock]
  std::vector<Numbers> copy(int channel, const WalkBase& from, int offset_h, int offset_w, int pixels) const {
    EXPECT_TRUE(offset_h >= 0 && offset_h <= 255 && offset_w >= 0 && offset_w <= 255);
    EXPECT_TRUE(lower_h >= -128 && upper_h <= 127 && lower_w >= -128 && upper_w <= 127);
    std::vector<Numbers> tile(static_cast<std::size_t>(pixels), Numbers(kBlock));
    int n = from.image, h = from.h, w = from.w;
    for (Numbers& row : tile) {
      const int at_h = h + offset_h, at_w = w + offset_w;
      if (n < sizes.images && at_h >= 0 && at_w >= 0 && at_h < sizes.height && at_w < sizes.width)
        for (int c = 0; c < kBlock && channel + c < sizes.channels; ++c)
          row[static_cast<std::size_t>(c)] =
              data[n * image + at_h * line + at_w * pixel + static_cast<std::size_t>(channel + c)];
      w += step_w;
      if (w <= sizes.width - 1 + upper_w) continue;
      w = lower_w, h += step_h;
      if (h <= sizes.height - 1 + upper_h) continue;
      h = lower_h, ++n;
    }
    return tile;
  }
};

// rows [walk.rows(), columns] = Σ over taps and channels of the walk · weight(tap, channel, column), scattered to `to`.
template <class Weight>
void product(const WindowWalk& walk, const Engine& engine, int kernel_w, int columns, int tile_rows, int height,
             int width, Numbers& to, std::vector<int>& written, Weight&& weight) {
  const int blocks = (engine.sizes.channels + kBlock - 1) / kBlock;
  for (int first = 0; first < walk.rows(); first += tile_rows) {
    std::vector<Numbers> sums(static_cast<std::size_t>(tile_rows), Numbers(static_cast<std::size_t>(columns)));
    const WalkBase base = walk.base_of(first);
    TapStep at;
    for (int step = 0; step < walk.taps() * blocks; ++step, at.advance(walk, blocks)) {
      const TapStep direct = TapStep::at(walk, blocks, step);
      ASSERT_TRUE(direct.down == at.down && direct.across == at.across && direct.block == at.block);
      const auto tile = engine.copy(at.block * kBlock, base, walk.h.taps.offset_of(at.down),
                                    walk.w.taps.offset_of(at.across), tile_rows);
      for (std::size_t row = 0; row < tile.size(); ++row)
        for (int n = 0; n < columns; ++n)
          for (int c = 0; c < kBlock && at.block * kBlock + c < engine.sizes.channels; ++c)
            sums[row][static_cast<std::size_t>(n)] +=
                tile[row][static_cast<std::size_t>(c)] * weight(at.tap(walk, kernel_w), at.block * kBlock + c, n);
    }
    for (int row = 0; row < tile_rows; ++row) {
      const int place = walk.place_of(first + row, height, width);
      if (place < 0) continue;
      ++written[static_cast<std::size_t>(place)];
      for (int n = 0; n < columns; ++n)
        to[static_cast<std::size_t>(place) * columns + n] =
            sums[static_cast<std::size_t>(row)][static_cast<std::size_t>(n)];
    }
  }
}

// [columns of dy, (tap, channel)] in stages of 64 pixels and parts, panel by panel of 64 columns.
Numbers weight_product(const WindowWalk& walk, const Engine& engine, int kernel_w, const Numbers& dy, int results,
                       int parts) {
  const int blocks = (engine.sizes.channels + kBlock - 1) / kBlock, pixels = walk.rows();
  const int row = walk.taps() * engine.sizes.channels;
  Numbers sums(static_cast<std::size_t>(results) * row);
  const StageParts stages{(pixels + 63) / 64, parts};
  for (int part = 0; part < parts; ++part)
    for (int stage = stages.begin(part); stage < stages.end(part); ++stage)
      for (int panel = 0; panel < walk.taps() * blocks; ++panel) {
        const TapStep at = TapStep::at(walk, blocks, panel);
        const auto tile = engine.copy(at.block * kBlock, walk.base_of(stage * 64), walk.h.taps.offset_of(at.down),
                                      walk.w.taps.offset_of(at.across), 64);
        const int first = at.tap(walk, kernel_w) * engine.sizes.channels + at.block * kBlock;
        for (int p = 0; p < 64 && stage * 64 + p < pixels; ++p)
          for (int o = 0; o < results; ++o)
            for (int c = 0; c < kBlock && at.block * kBlock + c < engine.sizes.channels; ++c)
              sums[static_cast<std::size_t>(o) * row + first + c] +=
                  dy[static_cast<std::size_t>(stage * 64 + p) * results + o] *
                  tile[static_cast<std::size_t>(p)][static_cast<std::size_t>(c)];
      }
  return sums;
}

std::vector<Layer> layers() {
  return {{2, 9, 7, 8, 3, {3, 3}, {1, 1}, {1, 1}},
          {2, 7, 9, 5, 4, {3, 3}, {2, 2}, {1, 1}},
          {1, 8, 8, 72, 3, {3, 3}, {2, 2}, {1, 1}},  // more than a block of channels
          {2, 9, 6, 3, 4, {1, 1}, {2, 2}},           // three classes of places that nobody reads
          {3, 5, 5, 4, 2, {1, 1}, {1, 1}, {1, 1}},   // padding alone: the box of dy begins inside
          {1, 11, 13, 4, 3, {5, 3}, {3, 2}, {2, 1}},
          {2, 13, 11, 4, 3, {3, 3}, {1, 1}, {2, 2}, {2, 2}},
          {1, 14, 12, 2, 3, {3, 3}, {2, 2}, {2, 2}, {2, 2}},  // stride and dilation share a divisor
          {1, 16, 15, 2, 3, {4, 3}, {2, 3}, {3, 2}, {3, 2}},
          {1, 12, 13, 2, 3, {2, 5}, {4, 2}, {0, 4}, {2, 1}},
          {2, 15, 17, 3, 4, {7, 7}, {2, 2}, {3, 3}},
          {2, 3, 4, 2, 3, {5, 5}, {1, 1}, {4, 3}},  // more padding than a window needs
          {1, 1, 1, 3, 2, {3, 3}, {1, 1}, {1, 1}},
          {5, 2, 3, 2, 2, {2, 2}}};
}

TEST(WindowWalk, Forward) {
  for (const Layer& layer : layers()) {
    SCOPED_TRACE(layer.name());
    const Numbers x = numbers(layer.x().size(), 1), weight = numbers(layer.weight().size(), 2);
    Numbers expected(layer.y().size());
    layer.each_product([&](int n, int oh, int ow, int i, int j, int h, int w) {
      for (int o = 0; o < layer.results; ++o)
        for (int c = 0; c < layer.channels; ++c)
          expected[layer.y().at(n, oh, ow, o)] += x[layer.x().at(n, h, w, c)] * weight[layer.weight().at(o, i, j, c)];
    });
    const WindowWalk walk = layer.forward();
    ASSERT_TRUE(walk_fits(walk));
    ASSERT_EQ(walk.rows(), layer.images * layer.out_h() * layer.out_w());
    for (int tile_rows : {16, 128}) {
      Numbers y(expected.size());
      std::vector<int> written(static_cast<std::size_t>(walk.rows()));
      product(walk, Engine(x, layer.x(), walk), static_cast<int>(layer.kernel.w), layer.results, tile_rows,
              layer.out_h(), layer.out_w(), y, written, [&](int tap, int c, int o) {
                return weight[(static_cast<std::size_t>(o) * layer.taps() + tap) * layer.channels + c];
              });
      EXPECT_EQ(y, expected);
      EXPECT_EQ(written, std::vector<int>(written.size(), 1));
    }
  }
}

TEST(WindowWalk, Input) {
  for (const Layer& layer : layers()) {
    SCOPED_TRACE(layer.name());
    const Numbers dy = numbers(layer.y().size(), 3), weight = numbers(layer.weight().size(), 2);
    Numbers expected(layer.x().size());
    layer.each_product([&](int n, int oh, int ow, int i, int j, int h, int w) {
      for (int o = 0; o < layer.results; ++o)
        for (int c = 0; c < layer.channels; ++c)
          expected[layer.x().at(n, h, w, c)] += dy[layer.y().at(n, oh, ow, o)] * weight[layer.weight().at(o, i, j, c)];
    });
    Numbers dx(expected.size(), 1e9);
    std::vector<int> written(expected.size() / static_cast<std::size_t>(layer.channels));
    for (int rest_h = 0; rest_h < layer.stride.h; ++rest_h)
      for (int rest_w = 0; rest_w < layer.stride.w; ++rest_w) {
        const WindowWalk walk = layer.input(rest_h, rest_w);
        if (walk.rows() == 0) continue;
        ASSERT_TRUE(walk_fits(walk));
        product(walk, Engine(dy, layer.y(), walk), static_cast<int>(layer.kernel.w), layer.channels, 32, layer.height,
                layer.width, dx, written, [&](int tap, int o, int c) {
                  return weight[(static_cast<std::size_t>(o) * layer.taps() + tap) * layer.channels + c];
                });
      }
    EXPECT_EQ(dx, expected);
    EXPECT_EQ(written, std::vector<int>(written.size(), 1));
  }
}

TEST(WindowWalk, Weight) {
  for (const Layer& layer : layers()) {
    SCOPED_TRACE(layer.name());
    const Numbers x = numbers(layer.x().size(), 1), dy = numbers(layer.y().size(), 3);
    Numbers expected(layer.weight().size());
    layer.each_product([&](int n, int oh, int ow, int i, int j, int h, int w) {
      for (int o = 0; o < layer.results; ++o)
        for (int c = 0; c < layer.channels; ++c)
          expected[layer.weight().at(o, i, j, c)] += dy[layer.y().at(n, oh, ow, o)] * x[layer.x().at(n, h, w, c)];
    });
    const WindowWalk walk = layer.forward();
    for (int parts : {1, 3})
      EXPECT_EQ(
          weight_product(walk, Engine(x, layer.x(), walk), static_cast<int>(layer.kernel.w), dy, layer.results, parts),
          expected);
  }
}

TEST(WindowWalk, Folded) {
  for (const Layer& layer : std::vector<Layer>{{2, 15, 17, 3, 4, {7, 7}, {2, 2}, {3, 3}},
                                               {2, 6, 7, 3, 2, {3, 3}, {1, 1}, {1, 1}},
                                               {1, 9, 8, 4, 2, {3, 3}, {2, 2}, {1, 1}},
                                               {1, 11, 13, 1, 2, {5, 3}, {3, 2}, {2, 0}},
                                               {1, 10, 9, 2, 3, {2, 4}, {3, 1}, {0, 2}}}) {
    SCOPED_TRACE(layer.name());
    const Numbers x = numbers(layer.x().size(), 1), weight = numbers(layer.weight().size(), 2),
                  dy = numbers(layer.y().size(), 3);
    Numbers y(layer.y().size()), dweight(layer.weight().size());
    layer.each_product([&](int n, int oh, int ow, int i, int j, int h, int w) {
      for (int o = 0; o < layer.results; ++o)
        for (int c = 0; c < layer.channels; ++c) {
          y[layer.y().at(n, oh, ow, o)] += x[layer.x().at(n, h, w, c)] * weight[layer.weight().at(o, i, j, c)];
          dweight[layer.weight().at(o, i, j, c)] += dy[layer.y().at(n, oh, ow, o)] * x[layer.x().at(n, h, w, c)];
        }
    });
    const Fold fold = Fold::of(layer.kernel, layer.stride, layer.padding, layer.channels, layer.out_h(), layer.out_w());
    const Shape4 shape{layer.images, fold.height, fold.line, fold.width};
    Numbers folded(shape.size());
    for (int n = 0; n < layer.images; ++n)
      for (int h = 0; h < fold.height; ++h)
        for (int w = 0; w < fold.line; ++w)
          for (int at = 0; at < fold.width; ++at) {
            const Fold::Source from = fold.source(h, w, at);
            if (from.valid && from.h >= 0 && from.w >= 0 && from.h < layer.height && from.w < layer.width)
              folded[shape.at(n, h, w, at)] = x[layer.x().at(n, from.h, from.w, from.channel)];
          }
    const int row = fold.kernel_h * fold.run;
    Numbers wide(static_cast<std::size_t>(layer.results) * row);
    for (int o = 0; o < layer.results; ++o)
      for (int at = 0; at < row; ++at) {
        const Fold::Source from = fold.tap_source(at / fold.run, at % fold.run);
        if (from.valid && from.h < layer.kernel.h && from.w < layer.kernel.w)
          wide[static_cast<std::size_t>(o) * row + at] = weight[layer.weight().at(o, from.h, from.w, from.channel)];
      }
    const WindowWalk walk{layer.images, forward_walk(fold.height, layer.out_h(), fold.kernel_h, 1, 0, 1),
                          forward_walk(layer.out_w(), layer.out_w(), 1, 1, 0, 1)};
    ASSERT_TRUE(walk_fits(walk));
    // Pixels overlap: each is a run of the folded line, and the next begins one folded pixel further.
    Engine engine(folded, {layer.images, fold.height, layer.out_w(), fold.run}, walk);
    engine.pixel = static_cast<std::size_t>(fold.width);
    engine.line = engine.pixel * fold.line, engine.image = engine.line * fold.height;
    Numbers result(y.size());
    std::vector<int> written(static_cast<std::size_t>(walk.rows()));
    product(walk, engine, 1, layer.results, 16, layer.out_h(), layer.out_w(), result, written,
            [&](int tap, int c, int o) { return wide[static_cast<std::size_t>(o) * row + tap * fold.run + c]; });
    EXPECT_EQ(result, y);
    const Numbers wide_gradient = weight_product(walk, engine, 1, dy, layer.results, 2);
    Numbers gradient(dweight.size());
    for (int o = 0; o < layer.results; ++o)
      for (int i = 0; i < layer.kernel.h; ++i)
        for (int j = 0; j < layer.kernel.w; ++j)
          for (int c = 0; c < layer.channels; ++c)
            gradient[layer.weight().at(o, i, j, c)] =
                wide_gradient[static_cast<std::size_t>(o) * row + fold.place_of(i, j, c)];
    EXPECT_EQ(gradient, dweight);
  }
}

TEST(WindowWalk, KnowsWhatTheEngineCannotDo) {
  const auto walk = [](const Layer& layer) { return layer.forward(); };
  EXPECT_TRUE(walk_fits(walk({1, 300, 300, 8, 8, {3, 3}, {8, 8}, {1, 1}})));
  EXPECT_FALSE(walk_fits(walk({1, 300, 300, 8, 8, {3, 3}, {9, 1}, {1, 1}})));                // steps of nine
  EXPECT_FALSE(walk_fits(walk({1, 300, 300, 8, 8, {3, 3}, {1, 1}, {130, 130}, {80, 80}})));  // a corner of -130
  EXPECT_FALSE(walk_fits(walk({1, 300, 300, 8, 8, {3, 3}, {1, 1}, {0, 0}, {80, 80}})));      // a corner of -160
  EXPECT_FALSE(walk_fits(walk({1, 300, 600, 8, 8, {1, 5}, {1, 1}, {0, 127}, {1, 64}})));     // an offset of 256
}

TEST(StageParts, CoverTheAxisOnce) {
  for (int steps : {1, 7, 12544})
    for (int parts : {1, 2, 5, 7}) {
      const StageParts all{steps, parts};
      EXPECT_EQ(all.begin(0), 0);
      EXPECT_EQ(all.end(parts - 1), steps);
      for (int part = 0; part < parts; ++part) EXPECT_LE(all.end(part) - all.begin(part), (steps + parts - 1) / parts);
    }
}

}  // namespace
}  // namespace attend::test
