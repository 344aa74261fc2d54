// How good boxes found in pictures are: COCO's average precision and recall, number for number those of pycocotools'
// COCOeval (bbox). A detection counts as right at ten overlaps (IoU 0.50, 0.55, .. 0.95); precision is read off at 101
// recalls, for all objects and for small (up to 32^2 pixels), medium and large ones (from 96^2).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attend::metrics {

// In pixels, from the top left corner of the picture; as in COCO's files.
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

// AP (the mean over the overlaps), AP at 0.50 and at 0.75, AP of small, medium and large objects; AR with 1, 10 and 100
// detections per picture and category, AR of small, medium and large objects. -1: there is no such object.
inline constexpr int kCocoStats = 12;

struct DetectionScores {
  std::array<double, kCocoStats> stats = {};
  std::vector<double> per_category = {};  // AP, in the order of Instances::categories
};

// Intersection over union; with a crowd, over the area of the detection.
double box_iou(const Box& detection, const Box& truth, bool crowd = false);

// Of equal scores the one that comes first counts as the better one. Detections of pictures and categories that are not
// in the instances are left out.
DetectionScores coco_scores(const Instances& truth, std::span<const Detection> detections);

}  // namespace attend::metrics
