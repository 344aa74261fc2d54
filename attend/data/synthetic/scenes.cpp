#include "attend/data/synthetic/scenes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "attend/base/error.h"
#include "attend/data/synthetic/scenes_random.h"

namespace attend::data {

namespace {

constexpr int kDisc = 0, kSquare = 1, kTriangle = 2, kFirstDigit = 3;
constexpr double kLeastShare = 0.12, kMostShare = 0.4;  // of the image's side that an object has
constexpr double kLeastDigitShare = 0.16;               // so that its lines can be told apart
constexpr double kMostHidden = 0.5;                     // of the smaller of two boxes
constexpr int kTries = 40;                              // to find a place
constexpr int kDiscCorners = 32;                        // of its outline

struct Colour {
  std::string_view name;
  std::array<double, 3> rgb;
};
// Far from one another, and from the greys of the background.
constexpr std::array<Colour, 10> kColours = {{{"red", {214, 38, 40}},
                                              {"orange", {245, 130, 28}},
                                              {"yellow", {250, 218, 45}},
                                              {"green", {40, 150, 60}},
                                              {"blue", {38, 84, 205}},
                                              {"purple", {120, 48, 165}},
                                              {"pink", {248, 150, 195}},
                                              {"brown", {112, 66, 32}},
                                              {"black", {20, 20, 22}},
                                              {"white", {246, 246, 246}}}};
constexpr double kBrightnessRange = 9, kTintRange = 3;  // of 255, around the colour's own

using Line = std::vector<ScenePoint>;

// Part of an ellipse, from one angle to another: 0 is right, 90 down.
void add_arc(Line& line, const ScenePoint& middle, const ScenePoint& radius, double from, double to) {
  constexpr double kStep = 15;
  const int steps = static_cast<int>(std::ceil(std::abs(to - from) / kStep));
  for (int i = 0; i <= steps; ++i) {
    const double angle = (from + (to - from) * i / steps) * std::numbers::pi / 180;
    line.push_back({middle.x + radius.x * std::cos(angle), middle.y + radius.y * std::sin(angle)});
  }
}

Line arc(const ScenePoint& middle, const ScenePoint& radius, double from = 0, double to = 360) {
  Line line;
  add_arc(line, middle, radius, from, to);
  return line;
}

std::vector<Line> six() { return {arc({0.27, 0.17}, {0.55, 0.6}, 252, 180), arc({0, 0.18}, {0.28, 0.27})}; }

// The lines of a digit, about one high, around the origin.
std::vector<Line> digit_lines(int digit) {
  switch (digit) {
    case 0:
      return {arc({0, 0}, {0.28, 0.45})};
    case 1:
      return {{{-0.16, -0.27}, {0.05, -0.45}, {0.05, 0.45}}};
    case 2: {
      Line line = arc({0, -0.2}, {0.27, 0.25}, 195, 400);
      line.push_back({-0.27, 0.45});
      line.push_back({0.28, 0.45});
      return {line};
    }
    case 3:
      return {arc({0, -0.23}, {0.25, 0.22}, 200, 450), arc({0, 0.22}, {0.28, 0.23}, 270, 520)};
    case 4:
      return {{{0.12, 0.45}, {0.12, -0.45}, {-0.29, 0.18}, {0.3, 0.18}}};
    case 5: {
      Line line = {{0.25, -0.45}, {-0.19, -0.45}, {-0.22, -0.05}};
      add_arc(line, {0, 0.15}, {0.28, 0.3}, 222, 505);
      return {line};
    }
    case 6:
      return six();
    case 7:
      return {{{-0.27, -0.45}, {0.27, -0.45}, {-0.08, 0.45}}};
    case 8:
      return {arc({0, -0.23}, {0.23, 0.22}), arc({0, 0.22}, {0.28, 0.23})};
    default: {  // a six upside down
      std::vector<Line> lines = six();
      for (Line& line : lines)
        for (ScenePoint& point : line) point = {-point.x, -point.y};
      return lines;
    }
  }
}

// Calls change(point) for every point.
template <class Figure, class Change>
void for_each_point(Figure& figure, Change change) {
  for (auto& point : figure.polygon) change(point);
  for (auto& line : figure.lines)
    for (auto& point : line) change(point);
}

// Around the origin, `length` high before it is turned.
SceneFigure figure_of(int kind, double length, double angle) {
  SceneFigure figure;
  if (kind == kDisc) {
    figure.lines = {{{0, 0}}};
    figure.radius = length / 2;
  } else if (kind == kSquare) {
    const double half = length / 2;
    figure.polygon = {{-half, -half}, {half, -half}, {half, half}, {-half, half}};
  } else if (kind == kTriangle) {  // all sides equal
    const double side = length * 2 / std::numbers::sqrt3;
    figure.polygon = {{0, -length / 2}, {side / 2, length / 2}, {-side / 2, length / 2}};
  } else {
    figure.lines = digit_lines(kind - kFirstDigit);
    figure.radius = 0.07 * length;
    for_each_point(figure, [&](ScenePoint& point) { point = {point.x * length, point.y * length}; });
  }
  const double cosine = std::cos(angle), sine = std::sin(angle);
  for_each_point(figure, [&](ScenePoint& point) {
    point = {point.x * cosine - point.y * sine, point.x * sine + point.y * cosine};
  });
  return figure;
}

SceneBox bounds_of(const SceneFigure& figure) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  SceneBox box = {kFar, kFar, -kFar, -kFar};
  for_each_point(figure, [&](const ScenePoint& point) {
    box = {std::min(box.left, point.x - figure.radius), std::min(box.top, point.y - figure.radius),
           std::max(box.right, point.x + figure.radius), std::max(box.bottom, point.y + figure.radius)};
  });
  return box;
}

double square(double value) { return value * value; }

double squared_distance_to_segment(const ScenePoint& p, const ScenePoint& a, const ScenePoint& b) {
  const ScenePoint along = {b.x - a.x, b.y - a.y}, to = {p.x - a.x, p.y - a.y};
  const double length = square(along.x) + square(along.y);
  const double share = length == 0 ? 0 : std::clamp((to.x * along.x + to.y * along.y) / length, 0.0, 1.0);
  return square(to.x - share * along.x) + square(to.y - share * along.y);
}

bool too_close(const SceneBox& a, const SceneBox& b, double max_iou) {
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0) return false;
  const double both = width * height, first = a.width() * a.height(), second = b.width() * b.height();
  return both > max_iou * (first + second - both) || both > kMostHidden * std::min(first, second);
}

SceneObject draw_object(SceneRandom& random, const SceneOptions& options) {
  SceneObject object;
  // As many digits as of each shape.
  object.kind = random.below(kFirstDigit + 1);
  if (object.kind == kFirstDigit) object.kind += random.below(kSceneKinds - kFirstDigit);
  object.colour = random.below(static_cast<int>(kColours.size()));
  const double brighter = random.between(-kBrightnessRange, kBrightnessRange);
  for (int c = 0; c < 3; ++c)
    object.shade[c] =
        std::clamp(kColours[object.colour].rgb[c] + brighter + random.between(-kTintRange, kTintRange), 0.0, 255.0);
  const double least = object.kind >= kFirstDigit ? kLeastDigitShare : kLeastShare;
  // Small ones as often as large ones: twice as large is one step, from any size.
  const double length = options.size * std::exp(random.between(std::log(least), std::log(kMostShare)));
  const double turn = object.kind >= kFirstDigit ? 0.2 : object.kind == kSquare ? 0.35 : std::numbers::pi;
  object.figure = figure_of(object.kind, length, random.between(-turn, turn));
  object.box = bounds_of(object.figure);
  const double margin = 1;
  const double dx = random.between(margin - object.box.left, options.size - margin - object.box.right);
  const double dy = random.between(margin - object.box.top, options.size - margin - object.box.bottom);
  for_each_point(object.figure, [&](ScenePoint& point) { point = {point.x + dx, point.y + dy}; });
  object.box = bounds_of(object.figure);
  return object;
}

// Which pixels a figure may touch.
struct PixelRange {
  int left, top, right, bottom;
};

PixelRange pixels_of(const SceneBox& box) {
  return {static_cast<int>(std::floor(box.left - 1)), static_cast<int>(std::floor(box.top - 1)),
          static_cast<int>(std::ceil(box.right + 1)), static_cast<int>(std::ceil(box.bottom + 1))};
}

// How much of a pixel is inside: an edge across it is taken for a straight one.
double coverage(const SceneFigure& figure, int x, int y) {
  return std::clamp(0.5 - figure.distance({x + 0.5, y + 0.5}), 0.0, 1.0);
}

}  // namespace

std::string scene_kind_name(int kind) {
  switch (kind) {
    case kDisc:
      return "disc";
    case kSquare:
      return "square";
    case kTriangle:
      return "triangle";
    default:
      return fmt::format("digit {}", kind - kFirstDigit);
  }
}

std::string_view scene_colour_name(int colour) { return kColours.at(colour).name; }

double SceneFigure::distance(const ScenePoint& point) const {
  if (!polygon.empty()) {
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < polygon.size(); ++i) {
      const ScenePoint &a = polygon[i], &b = polygon[(i + 1) % polygon.size()];
      const double outside = (b.y - a.y) * (point.x - a.x) - (b.x - a.x) * (point.y - a.y);
      most = std::max(most, outside / std::sqrt(square(b.x - a.x) + square(b.y - a.y)));
    }
    return most;
  }
  double least = std::numeric_limits<double>::infinity();
  for (const auto& line : lines)
    for (std::size_t i = 0; i < std::max<std::size_t>(line.size() - 1, 1); ++i)
      least = std::min(least, squared_distance_to_segment(point, line[i], line[std::min(i + 1, line.size() - 1)]));
  return std::sqrt(least) - radius;
}

double SceneObject::area() const {
  const PixelRange range = pixels_of(box);
  double sum = 0;
  for (int y = range.top; y < range.bottom; ++y)
    for (int x = range.left; x < range.right; ++x) sum += coverage(figure, x, y);
  return sum;
}

std::vector<double> SceneObject::outline() const {
  if (kind >= kFirstDigit) return {};
  Line corners = figure.polygon;
  if (kind == kDisc) {
    const ScenePoint middle = box.middle();
    for (int i = 0; i < kDiscCorners; ++i) {
      const double angle = 2 * std::numbers::pi * i / kDiscCorners;
      corners.push_back({middle.x + figure.radius * std::cos(angle), middle.y + figure.radius * std::sin(angle)});
    }
  }
  std::vector<double> numbers;
  for (const ScenePoint& corner : corners) numbers.insert(numbers.end(), {corner.x, corner.y});
  return numbers;
}

Scene make_scene(const SceneOptions& options, SceneSet set, std::uint64_t image) {
  check(options.size >= kLeastSceneSize && options.size <= kMostSceneSize,
        "scenes: an image has {} to {} pixels, not {}", kLeastSceneSize, kMostSceneSize, options.size);
  check(options.objects >= 1 && options.objects <= kMostSceneObjects, "scenes: an image has 1 to {} objects, not {}",
        kMostSceneObjects, options.objects);
  check(options.max_iou >= 0 && options.max_iou <= 1, "scenes: boxes overlap by 0 to 1, not {}", options.max_iou);
  SceneRandom random(options.seed, set, image, SceneRandom::Use::image);
  Scene scene;
  const double grey = random.between(100, 180);
  for (double& channel : scene.background) channel = grey + random.between(-5, 5);
  scene.slope = {random.between(-30, 30), random.between(-30, 30)};
  const int wanted = 1 + random.below(options.objects);
  for (int i = 0; i < wanted; ++i) {
    for (int attempt = 0; attempt < kTries; ++attempt) {  // where there is no room, there are fewer
      SceneObject object = draw_object(random, options);
      const bool blocked = std::any_of(scene.objects.begin(), scene.objects.end(), [&](const SceneObject& other) {
        return too_close(object.box, other.box, options.max_iou);
      });
      if (blocked) continue;
      scene.objects.push_back(std::move(object));
      break;
    }
  }
  return scene;
}

image::Image paint_scene(const Scene& scene, int size) {
  std::vector<std::array<double, 3>> canvas(static_cast<std::size_t>(size) * static_cast<std::size_t>(size));
  for (int y = 0; y < size; ++y)
    for (int x = 0; x < size; ++x) {
      const double added = scene.slope.x * (x + 0.5) / size + scene.slope.y * (y + 0.5) / size;
      for (int c = 0; c < 3; ++c)
        canvas[static_cast<std::size_t>(y) * size + x][c] =
            scene.background[c] + added - (scene.slope.x + scene.slope.y) / 2;
    }
  for (const SceneObject& object : scene.objects) {
    const PixelRange range = pixels_of(object.box);
    for (int y = std::max(range.top, 0); y < std::min(range.bottom, size); ++y)
      for (int x = std::max(range.left, 0); x < std::min(range.right, size); ++x) {
        const double share = coverage(object.figure, x, y);
        for (int c = 0; share > 0 && c < 3; ++c) {
          double& value = canvas[static_cast<std::size_t>(y) * size + x][c];
          value += share * (object.shade[c] - value);
        }
      }
  }
  image::Image image(size, size);
  std::uint8_t* out = image.pixels.data();
  for (const auto& pixel : canvas)
    for (const double value : pixel) *out++ = static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L));
  return image;
}

}  // namespace attend::data
