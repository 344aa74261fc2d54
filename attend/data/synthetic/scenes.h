// Images of discs, squares, triangles and digits with their boxes and captions, made from a seed: enough to learn
// finding and describing things from, and nothing to download. Image i of a set is a pure function of (options, set,
// i).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/image/image.h"

namespace attend::data {

struct SceneOptions {
  int size = 128;        // pixels, both ways
  int objects = 6;       // of an image, at most; at least one
  double max_iou = 0.2;  // of the boxes of two objects; half of the smaller one stays free in any case
  std::uint64_t seed = 1;
};

inline constexpr int kLeastSceneSize = 32, kMostSceneSize = 1024, kMostSceneObjects = 100;
inline constexpr int kSceneCaptions = 5;  // of an image, as in Flickr8k and COCO

// Disc, square, triangle, then the digits 0 to 9.
inline constexpr int kSceneKinds = 13;
std::string scene_kind_name(int kind);  // "triangle", "digit 7"

struct ScenePoint {
  double x = 0, y = 0;
};

// What is painted: a convex polygon, clockwise on the screen, or all that is within the radius of some lines (a disc is
// a line of one point).
struct SceneFigure {
  std::vector<ScenePoint> polygon = {};
  std::vector<std::vector<ScenePoint>> lines = {};
  double radius = 0;

  // How far outside a point is, in pixels; inside, negative.
  double distance(const ScenePoint& point) const;
};

struct SceneBox {
  double left = 0, top = 0, right = 0, bottom = 0;
  double width() const { return right - left; }
  double height() const { return bottom - top; }
  ScenePoint middle() const { return {(left + right) / 2, (top + bottom) / 2}; }
};

struct SceneObject {
  int kind = 0, colour = 0;
  std::array<double, 3> shade = {};  // red, green, blue, near to those of the colour's name
  SceneFigure figure = {};
  SceneBox box = {};  // around the whole figure, also where others hide it

  double area() const;  // in pixels
  // Where it has one outline: x, y, x, y, ..; empty for digits.
  std::vector<double> outline() const;
};

struct Scene {
  std::array<double, 3> background = {};
  ScenePoint slope = {};             // what is added to the background from one side to the other
  std::vector<SceneObject> objects;  // later ones hide earlier ones
};

enum class SceneSet : std::uint8_t { train, valid };

Scene make_scene(const SceneOptions& options, SceneSet set, std::uint64_t image);
image::Image paint_scene(const Scene& scene, int size);
// All true, all different, about the two largest objects or about all of them.
std::vector<std::string> describe_scene(const Scene& scene, const SceneOptions& options, SceneSet set,
                                        std::uint64_t image);

// "red"; of the colour of an object.
std::string_view scene_colour_name(int colour);

}  // namespace attend::data
