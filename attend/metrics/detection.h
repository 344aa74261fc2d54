// How good boxes found in images are: COCO's average precision and recall, number for number those of pycocotools'
// COCOeval (bbox). A detection counts as right at ten overlaps (IoU 0.50, 0.55, .. 0.95); precision is read off at 101
// recalls, for all objects and for small (up to 32^2 pixels), medium and large ones (from 96^2).
#pragma once

#include <array>
#include <span>
#include <vector>

#include "attend/data/images/annotations.h"

namespace attend::metrics {

// AP (the mean over the overlaps), AP at 0.50 and at 0.75, AP of small, medium and large objects; AR with 1, 10 and 100
// detections per image and category, AR of small, medium and large objects. -1: there is no such object.
inline constexpr int kCocoStats = 12;

struct DetectionScores {
  std::array<double, kCocoStats> stats = {};
  std::vector<double> per_category = {};  // AP, in the order of Instances::categories
};

// Intersection over union; with a crowd, over the area of the detection.
double box_iou(const data::Box& detection, const data::Box& truth, bool crowd = false);

// Of equal scores the one that comes first counts as the better one. Detections of images and categories that are not
// in the instances are left out.
DetectionScores coco_scores(const data::Instances& truth, std::span<const data::Detection> detections);

}  // namespace attend::metrics
