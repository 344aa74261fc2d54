// Objects in images, as COCO's files describe them: boxes, categories, and the detections that are compared with them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attend::data {

// In pixels, from the top left corner of the image; as in COCO's files.
struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  double area() const { return width * height; }
};

struct TrueObject {
  std::int64_t image = 0, category = 0;
  Box box = {};
  double area = 0;     // of the object itself, which is what counts as its size
  bool crowd = false;  // stands for many: finding it counts neither for nor against
};

struct Detection {
  std::int64_t image = 0, category = 0;
  Box box = {};
  double score = 0;
};

struct Category {
  std::int64_t id = 0;
  std::string name = {};
};

struct Instances {
  std::vector<std::int64_t> images;
  std::vector<Category> categories;
  std::vector<TrueObject> objects;
};

}  // namespace attend::data
