// COCO's boxes: overlaps, nothing at all, and what files may hold (tests/fixtures has its numbers).
#include "attend/metrics/detection.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/data/images/coco_files.h"

namespace attend::metrics {
namespace {

TEST(Detection, OverlapsOfBoxes) {
  const data::Box unit = {0, 0, 2, 2};
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

// Tables of floats write 3 as 3.0, which pycocotools takes for the same; 3.5 is nobody's number.
TEST(Detection, NumbersMayBeWrittenAsFloats) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("attend-float-ids-" + std::to_string(getpid()) + ".json");
  const data::Instances truth = {.images = {3}, .categories = {{7, "x"}}, .objects = {{3, 7, {0, 0, 4, 4}, 16, false}}};
  const auto scored = [&](const std::string& image) {
    write_file(path, R"([{"image_id": )" + image + R"(, "category_id": 7.0, "bbox": [0, 0, 4, 4], "score": 1}])");
    return coco_scores(truth, data::read_detections(path, truth).detections).stats[0];
  };
  EXPECT_DOUBLE_EQ(scored("3.0"), 1);
  EXPECT_THROW(scored("3.5"), Error);
  EXPECT_THROW(scored("1e300"), Error);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace attend::metrics
