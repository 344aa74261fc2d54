// Every number that pycocotools gave to the fixture's detections.
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

constexpr double kCocoTolerance = 1e-9;

TEST(Detection, AgreesWithPycocotools) {
  const Json cases = read_json("tests/fixtures/data/vision/coco_ap.cases.json");
  EXPECT_EQ(cases.size(), 17u);
  const auto folder = std::filesystem::temp_directory_path() / ("attend_coco_" + std::to_string(getpid()));
  for (const Json& item : cases) {
    SCOPED_TRACE(item.at("note").text());
    write_file(folder / "truth.json", item.at("ground_truth").dump());
    write_file(folder / "results.json", item.at("detections").dump());
    const Instances truth = read_instances(folder / "truth.json");
    const DetectionScores scores = coco_scores(truth, read_detections(folder / "results.json", truth).detections);
    for (int i = 0; i < kCocoStats; ++i)
      EXPECT_NEAR(scores.stats[i], item.at("stats")[i].get<double>(), kCocoTolerance) << i;
    ASSERT_EQ(scores.per_category.size(), item.at("per_category").size());
    for (std::size_t k = 0; k < truth.categories.size(); ++k)
      EXPECT_NEAR(scores.per_category[k],
                  item.at("per_category").at(std::to_string(truth.categories[k].id)).get<double>(), kCocoTolerance)
          << truth.categories[k].id;
  }
  std::filesystem::remove_all(folder);
}

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
