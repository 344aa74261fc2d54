// COCO's boxes: overlaps, nothing at all, and what files may hold (tests/fixtures has its numbers).
#include "attend/metrics/detection.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/metrics/coco_files.h"

namespace attend::metrics {
namespace {

TEST(Detection, OverlapsOfBoxes) {
  const Box unit = {0, 0, 2, 2};
  EXPECT_EQ(box_iou(unit, unit), 1);
  EXPECT_EQ(box_iou(unit, {2, 0, 2, 2}), 0);
  EXPECT_EQ(box_iou(unit, {-1, -1, 1, 1}), 0);
  EXPECT_DOUBLE_EQ(box_iou(unit, {1, 0, 2, 2}), 1.0 / 3);
  EXPECT_DOUBLE_EQ(box_iou(unit, {1, 0, 20, 20}, true), 0.5);
  EXPECT_EQ(box_iou({1, 1, 0, 0}, unit), 0);
}

TEST(Detection, NothingAtAllIsMinusOne) {
  const DetectionScores scores = coco_scores({}, {});
  for (const double value : scores.stats) EXPECT_EQ(value, -1);
  EXPECT_TRUE(scores.per_category.empty());
}

}  // namespace
}  // namespace attend::metrics
