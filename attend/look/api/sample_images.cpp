#include "attend/look/api/sample_images.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "attend/data/synthetic/painted_dog.h"
#include "attend/data/synthetic/scenes.h"

namespace attend::look {

namespace {

using data::ScenePoint;
using Shade = std::array<double, 3>;
using Points = std::vector<ScenePoint>;

// Drawn on a square of 100 x 100, later things over earlier ones.
class Drawing {
 public:
  Drawing(int size, const Shade& background, const ScenePoint& slope) : size_(size) {
    scene_.background = background, scene_.slope = slope;
  }

  // Convex, clockwise on the screen.
  Drawing& polygon(const Shade& shade, const Points& points) { return add(shade, {.polygon = scaled(points)}, 0); }
  Drawing& line(const Shade& shade, const Points& points, double width) {
    const double radius = width / 2 * size_ / 100;
    return add(shade, {.lines = {scaled(points)}, .radius = radius}, radius);
  }
  Drawing& disc(const Shade& shade, double x, double y, double radius) { return line(shade, {{x, y}}, 2 * radius); }
  Drawing& box(const Shade& shade, double left, double top, double right, double bottom) {
    return polygon(shade, {{left, top}, {right, top}, {right, bottom}, {left, bottom}});
  }

  image::Image paint() const { return data::paint_scene(scene_, size_); }

 private:
  Points scaled(Points points) const {
    for (ScenePoint& point : points) point.x *= size_ / 100.0, point.y *= size_ / 100.0;
    return points;
  }
  Drawing& add(const Shade& shade, data::SceneFigure figure, double margin) {
    const Points& points = figure.polygon.empty() ? figure.lines.front() : figure.polygon;
    data::SceneBox box{points[0].x, points[0].y, points[0].x, points[0].y};
    for (const ScenePoint& point : points) {
      box.left = std::min(box.left, point.x - margin), box.right = std::max(box.right, point.x + margin);
      box.top = std::min(box.top, point.y - margin), box.bottom = std::max(box.bottom, point.y + margin);
    }
    scene_.objects.push_back({.shade = shade, .figure = std::move(figure), .box = box});
    return *this;
  }

  int size_;
  data::Scene scene_;
};

image::Image paint_boat(int size) {
  constexpr Shade kSea = {42, 98, 150}, kFoam = {110, 160, 196}, kWood = {122, 64, 38}, kSail = {246, 240, 226};
  return Drawing(size, {160, 200, 232}, {0, 60})
      .disc({255, 226, 132}, 80, 18, 8)
      .box(kSea, 0, 66, 100, 100)
      .line({70, 46, 32}, {{48, 16}, {48, 68}}, 2)
      .polygon(kSail, {{50, 18}, {76, 60}, {50, 60}})
      .polygon({214, 78, 62}, {{46, 24}, {46, 60}, {26, 60}})
      .polygon(kWood, {{20, 64}, {82, 64}, {70, 78}, {32, 78}})
      .line(kFoam, {{4, 84}, {26, 82}, {40, 85}}, 1.6)
      .line(kFoam, {{52, 88}, {70, 86}, {94, 89}}, 1.6)
      .paint();
}

image::Image paint_cat(int size) {
  constexpr Shade kFur = {214, 142, 70}, kDark = {150, 88, 38}, kInk = {36, 30, 30}, kPink = {232, 150, 140};
  return Drawing(size, {136, 158, 128}, {18, -34})
      .line(kFur, {{74, 88}, {88, 74}, {86, 56}}, 8)
      .disc(kFur, 50, 88, 27)
      .polygon(kFur, {{24, 12}, {45, 26}, {25, 42}})
      .polygon(kFur, {{76, 12}, {75, 42}, {55, 26}})
      .polygon(kPink, {{28, 19}, {39, 27}, {28, 35}})
      .polygon(kPink, {{72, 19}, {72, 35}, {61, 27}})
      .disc(kFur, 50, 44, 25)
      .line(kDark, {{50, 21}, {50, 30}}, 3)
      .line(kDark, {{42, 22}, {43, 29}}, 2.4)
      .line(kDark, {{58, 22}, {57, 29}}, 2.4)
      .disc({196, 222, 120}, 40, 42, 5.4)
      .disc({196, 222, 120}, 60, 42, 5.4)
      .line(kInk, {{40, 39}, {40, 45}}, 2.6)
      .line(kInk, {{60, 39}, {60, 45}}, 2.6)
      .polygon(kPink, {{46.5, 51}, {53.5, 51}, {50, 55}})
      .line(kInk, {{50, 55}, {50, 58}, {45, 60}}, 1)
      .line(kInk, {{50, 58}, {55, 60}}, 1)
      .line(kInk, {{40, 54}, {18, 50}}, 0.7)
      .line(kInk, {{40, 57}, {18, 59}}, 0.7)
      .line(kInk, {{60, 54}, {82, 50}}, 0.7)
      .line(kInk, {{60, 57}, {82, 59}}, 0.7)
      .paint();
}

image::Image paint_house(int size) {
  constexpr Shade kGlass = {250, 224, 138}, kLeaf = {46, 104, 62};
  return Drawing(size, {70, 92, 150}, {-10, 96})
      .disc({244, 240, 214}, 20, 20, 7)
      .polygon({88, 108, 128}, {{60, 26}, {104, 74}, {10, 74}})
      .box({74, 118, 66}, 0, 72, 100, 100)
      .box({206, 196, 180}, 26, 46, 66, 82)
      .box({120, 72, 60}, 54, 26, 60, 44)
      .polygon({150, 54, 46}, {{46, 26}, {71, 48}, {21, 48}})
      .box({96, 60, 40}, 41, 62, 51, 82)
      .box(kGlass, 30, 54, 38, 62)
      .box(kGlass, 54, 54, 62, 62)
      .line({92, 62, 40}, {{82, 62}, {82, 84}}, 4)
      .disc(kLeaf, 82, 56, 11)
      .disc(kLeaf, 76, 62, 7)
      .disc(kLeaf, 88, 62, 7)
      .paint();
}

template <std::int64_t index>
image::Image paint_shapes(int size) {
  return data::paint_scene(data::make_scene({.size = size, .objects = 5, .seed = 7}, data::SceneSet::valid, index),
                           size);
}

template <std::uint64_t seed>
image::Image paint_dog(int size) {
  return data::paint(data::painted_dog(seed), size);
}

}  // namespace

std::span<const SampleImage> sample_images(SampleKind kind) {
  static constexpr std::array<SampleImage, 5> kObjects = {{{"cat", paint_cat},
                                                           {"dog", paint_dog<1>},
                                                           {"boat", paint_boat},
                                                           {"house", paint_house},
                                                           {"shapes", paint_shapes<4>}}};
  static constexpr std::array<SampleImage, 5> kDogs = {{{"dog", paint_dog<1>},
                                                        {"dog-2", paint_dog<2>},
                                                        {"dog-3", paint_dog<3>},
                                                        {"dog-4", paint_dog<4>},
                                                        {"fooled-cat", paint_cat}}};
  static constexpr std::array<SampleImage, 5> kScenes = {{{"shapes", paint_shapes<4>},
                                                          {"shapes-2", paint_shapes<1>},
                                                          {"shapes-3", paint_shapes<2>},
                                                          {"shapes-4", paint_shapes<3>},
                                                          {"fooled-cat", paint_cat}}};
  switch (kind) {
    case SampleKind::objects:
      return kObjects;
    case SampleKind::dogs:
      return kDogs;
    case SampleKind::scenes:
      return kScenes;
  }
  return {};
}

}  // namespace attend::look
