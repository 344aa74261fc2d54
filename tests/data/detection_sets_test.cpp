// Images with boxes: read from COCO's and Penn-Fudan's files, changed together with their boxes, and batched the same
// whatever the number of threads and wherever a run resumes.
#include "attend/data/images/detection_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attend/base/json.h"
#include "attend/data/images/detection_batches.h"
#include "attend/data/synthetic/scenes_folder.h"
#include "tests/data/image_files.h"

namespace attend::data {
namespace {

namespace fs = std::filesystem;

class DetectionSetTest : public test::ImageFilesTest {
 protected:
  void SetUp() override {
    test::ImageFilesTest::SetUp();
    if (!can_do_images()) GTEST_SKIP() << "this build has no images";
  }
  DetectionSet scenes(std::int64_t count = 6) const {
    write_scenes(folder_ / "scenes", {.scene = {.size = 48, .objects = 3}, .count = count, .unseen = 1});
    return DetectionSet(folder_ / "scenes/instances_train.json");
  }
  // Two images of 20 x 10 in images/, with categories 7 and 3.
  Json coco() const {
    for (const char* name : {"images/a.png", "images/b.png"}) write(name, image::encode_png(image::Image(20, 10)));
    return {{"images", Json::array({{{"id", 5}, {"file_name", "a.png"}, {"width", 40}, {"height", 20}},
                                    {{"id", 2}, {"file_name", "b.png"}, {"width", 20}, {"height", 10}}})},
            {"categories", Json::array({{{"id", 7}, {"name", "cat"}}, {{"id", 3}, {"name", "dog"}}})},
            {"annotations", Json::array({object(1, 5, 7, {10, 5, 20, 10}), object(2, 2, 3, {-5, 0, 10, 10})})}};
  }
  static Json object(int id, int image, int category, const std::vector<double>& box, int crowd = 0) {
    return {{"id", id},    {"image_id", image}, {"category_id", category},
            {"bbox", box}, {"area", 10.0},      {"iscrowd", crowd}};
  }
  DetectionSet open(const Json& json) const {
    write("instances_x.json", json.dump());
    return DetectionSet(folder_ / "instances_x.json");
  }
  std::string error_of(const Json& json) const {
    try {
      open(json);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(DetectionSetTest, ScenesHaveTheBoxesOfTheirFile) {
  const DetectionSet set = scenes();
  EXPECT_EQ(set.size(), 6);
  EXPECT_EQ(set.classes().size(), static_cast<std::size_t>(kSceneKinds));
  EXPECT_EQ(set.read(0).width, 48);
  const Json file = read_json(folder_ / "scenes/instances_train.json");
  std::vector<std::size_t> seen(6);
  for (const Json& object : file.at("annotations")) {
    const auto image = static_cast<std::size_t>(object.at("image_id").get<int>() - 1);
    const LabelledBox& box = set.boxes(static_cast<std::int64_t>(image))[seen[image]++];
    EXPECT_EQ(box.label, object.at("category_id").get<int>() - 1);
    EXPECT_NEAR(48 * box.left, object.at("bbox")[0].get<double>(), 1e-9);
    EXPECT_NEAR(48 * (box.bottom - box.top), object.at("bbox")[3].get<double>(), 1e-9);
  }
}

// Boxes go by the size in the file, labels by the order of the ids; a crowd is only scored.
TEST_F(DetectionSetTest, CocoBoxesArePartsOfTheImage) {
  Json json = coco();
  json["annotations"].push_back(object(3, 5, 7, {0, 0, 40, 20}, 1));
  json["annotations"].push_back(object(4, 5, 7, {50, 0, 4, 4}));
  DetectionSet set = open(json);
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"dog", "cat"}));
  EXPECT_EQ(set.boxes(0), (std::vector<LabelledBox>{{1, 0.25, 0.25, 0.75, 0.75}}));
  EXPECT_EQ(set.boxes(1), (std::vector<LabelledBox>{{0, 0, 0, 0.25, 1}}));
  EXPECT_NE(set.left_out().find("1 boxes left out"), std::string::npos);
  EXPECT_EQ(set.truth({0}).objects.size(), 3u);
  EXPECT_TRUE(set.truth({0}).objects[1].crowd);
  set.use_classes({"cat", "cow", "dog"});
  EXPECT_EQ(set.boxes(1)[0].label, 2);
  EXPECT_EQ(set.truth({1}).objects[0].category, 2);
  EXPECT_THROW(set.use_classes({"cat", "cow"}), Error);
}

TEST_F(DetectionSetTest, CocoFilesThatCannotBeAreNamed) {
  Json json = coco();
  json["images"][1].erase("width");
  EXPECT_NE(error_of(json).find("image 1 has no \"width\""), std::string::npos) << error_of(json);
  json = coco(), json["images"][0]["file_name"] = "c.png";
  EXPECT_NE(error_of(json).find("where are its images"), std::string::npos) << error_of(json);
  json = coco(), json["categories"][0]["name"] = "dog";
  EXPECT_NE(error_of(json).find("two categories are called 'dog'"), std::string::npos) << error_of(json);
  json = coco(), json["images"] = Json::array(), json["annotations"] = Json::array();
  EXPECT_NE(error_of(json).find("no images"), std::string::npos) << error_of(json);
  json = coco(), json["images"][0]["height"] = 0;
  EXPECT_NE(error_of(json).find("\"height\" must be"), std::string::npos) << error_of(json);
  EXPECT_THROW(DetectionSet(folder_ / "images"), Error);
}

TEST_F(DetectionSetTest, PennFudanCountsPixelsFromOne) {
  const std::string good =
      "Image filename : \"PennFudanPed/PNGImages/P1.png\"\nImage size (X x Y x C) : 40 x 20 x 3\n"
      "Objects with ground truth : 1 { \"PASpersonWalking\" }\n"
      "Bounding box for object 1 \"PASpersonWalking\" (Xmin, Ymin) - (Xmax, Ymax) : (11, 6) - (30, 15)\n";
  write("penn/PNGImages/P1.png", image::encode_png(image::Image(40, 20)));
  write("penn/Annotation/P1.txt", good);
  const DetectionSet set(folder_ / "penn");
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"person"}));
  EXPECT_EQ(set.boxes(0), (std::vector<LabelledBox>{{0, 0.25, 0.25, 0.75, 0.75}}));
  EXPECT_EQ(set.read(0).height, 20);
  const auto expect_error = [&](const std::string& from, const std::string& to, const std::string& part) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    write("penn/Annotation/P1.txt", text);
    try {
      DetectionSet(folder_ / "penn");
      ADD_FAILURE() << part;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  expect_error("truth : 1", "truth : 2", "says 2 objects, but has 1 boxes");
  expect_error("(30, 15)", "(41, 15)", "line 4: the box (11, 6) - (41, 15) is not inside of an image of 40 x 20");
  expect_error("40 x 20 x 3", "wide", "line 2: a size is");
  expect_error("(11, 6) - (30, 15)", "here", "line 4: a box is");
  fs::remove(folder_ / "penn/PNGImages/P1.png");
  expect_error("Image filename", "Image filename", "its image is missing");
}

// White things on black stay under their boxes, whatever is done to the image.
TEST_F(DetectionSetTest, BoxesGoWhereTheirThingsGo) {
  DetectionOptions options;
  options.image_size = 64, options.crop_chance = 0.7, options.least_crop = 0.3, options.least_scale = 0.5;
  options.mean = "0", options.std = "1";
  const DetectionMaker maker(options);
  image::Image image(90, 60);
  for (int y = 20; y < 40; ++y) std::fill_n(image.row(y) + 3 * 15, 3 * 30, std::uint8_t{255});
  const std::vector<LabelledBox> boxes = {{4, 15 / 90.0, 20 / 60.0, 45 / 90.0, 40 / 60.0}};
  std::vector<float> values(maker.values());
  std::int64_t mirrored = 0, smallest = 64, closest = 0;
  for (std::uint32_t i = 0; i < 100; ++i) {
    image::Draws draws(3, i);
    const DetectionMaker::Made made = maker(image, boxes, draws, values);
    double left = 64, right = 0, top = 64, bottom = 0;
    for (int y = 0; y < 64; ++y)
      for (int x = 0; x < 64; ++x)
        if (values[static_cast<std::size_t>(3 * (64 * y + x))] > 0.5f) {
          left = std::min(left, x * 1.0), right = std::max(right, x + 1.0);
          top = std::min(top, y * 1.0), bottom = std::max(bottom, y + 1.0);
        }
    const double w = static_cast<double>(made.size.w), h = static_cast<double>(made.size.h);
    ASSERT_EQ(made.boxes.size(), 1u);
    EXPECT_EQ(made.boxes[0].label, 4);
    EXPECT_NEAR(made.boxes[0].left * w, left, 1.1) << i;
    EXPECT_NEAR(made.boxes[0].right * w, right, 1.1) << i;
    EXPECT_NEAR(made.boxes[0].top * h, top, 1.1) << i;
    EXPECT_NEAR(made.boxes[0].bottom * h, bottom, 1.1) << i;
    mirrored += made.boxes[0].left + made.boxes[0].right > 1;
    smallest = std::min(smallest, std::max(made.size.w, made.size.h));
    closest += made.boxes[0].right - made.boxes[0].left > 0.45;
  }
  EXPECT_GT(mirrored, 20);
  EXPECT_LT(mirrored, 80);
  EXPECT_LT(smallest, 40);
  EXPECT_GE(smallest, 32);
  EXPECT_GT(closest, 10);
}

// On a grey image contrast and saturation do nothing, so that what is left is the factor of brightness.
TEST_F(DetectionSetTest, JitterChangesTheLightAndNoBox) {
  DetectionOptions options;
  options.image_size = 32, options.mean = "0", options.std = "1";
  const DetectionMaker plain(options);
  options.jitter = 0.4;
  const DetectionMaker jittered(options);
  image::Image image(32, 32);
  std::ranges::fill(image.pixels, std::uint8_t{100});
  const std::vector<LabelledBox> boxes = {{1, 0.25, 0.25, 0.5, 0.75}};
  std::vector<float> values(plain.values());
  double darkest = 255, lightest = 0;
  for (std::uint32_t i = 0; i < 100; ++i) {
    image::Draws draws(3, i), same(3, i);
    const DetectionMaker::Made expected = plain(image, boxes, same, values);
    const DetectionMaker::Made made = jittered(image, boxes, draws, values);
    EXPECT_EQ(made.boxes, expected.boxes);
    const double pixel = 255 * static_cast<double>(values[0]);
    EXPECT_GE(pixel, 59);
    EXPECT_LE(pixel, 141);
    darkest = std::min(darkest, pixel), lightest = std::max(lightest, pixel);
  }
  EXPECT_LT(darkest, 70);
  EXPECT_GT(lightest, 130);
}

TEST_F(DetectionSetTest, BatchesDependOnTheirNumberAlone) {
  const DetectionSet set = scenes(7);
  ImageCache reader(images_of(set), {});
  std::vector<std::int64_t> items(7);
  std::iota(items.begin(), items.end(), 0);
  DetectionOptions options;
  options.image_size = 32, options.workers = 1;
  DetectionBatches one({set, reader, items}, options, {.batch = 3, .seed = 5});
  options.workers = 3;
  DetectionBatches many({set, reader, items}, options, {.batch = 3, .seed = 5});
  std::vector<HostDetectionBatch> first;
  std::vector<std::int64_t> seen;
  for (int i = 0; i < 7; ++i) {
    first.push_back(one.next());
    const HostDetectionBatch other = many.next();
    EXPECT_EQ(first.back().values, other.values);
    EXPECT_EQ(first.back().boxes, other.boxes);
    seen.insert(seen.end(), other.items.begin(), other.items.end());
  }
  std::sort(seen.begin(), seen.begin() + 7);
  EXPECT_TRUE(std::equal(items.begin(), items.end(), seen.begin()));  // an epoch
  many.seek(4);
  EXPECT_EQ(many.next().values, first[4].values);
  EXPECT_EQ(many.position(), 5u);
  EXPECT_THROW(many.seek(~std::uint64_t{0}), Error);

  ValidationDetections validation({set, reader, items}, options, 3);
  std::vector<std::int64_t> order, counts;
  validation.for_each([&](const HostDetectionBatch& batch) {
    order.insert(order.end(), batch.items.begin(), batch.items.end());
    counts.push_back(static_cast<std::int64_t>(batch.sizes.size()));
  });
  EXPECT_EQ(order, items);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{3, 3, 1}));
}

}  // namespace
}  // namespace attend::data
