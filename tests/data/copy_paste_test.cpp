// Things pasted into images: they bring their boxes along, what they cover shrinks or goes, and the same draws make
// the same image.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/data/images/copy_paste.h"
#include "attend/data/images/detection_batches.h"
#include "attend/data/synthetic/scenes_folder.h"
#include "attend/image/encode.h"

namespace attend::data {
namespace {

namespace fs = std::filesystem;

image::Image plain(int width, int height, std::uint8_t shade) {
  image::Image image(width, height);
  std::ranges::fill(image.pixels, shade);
  return image;
}

// A white disc that its box touches, as polygon.
ObjectMask diamond(const LabelledBox& box) {
  const auto x = static_cast<float>((box.left + box.right) / 2), y = static_cast<float>((box.top + box.bottom) / 2);
  return {.polygons = {{x, static_cast<float>(box.top), static_cast<float>(box.right), y, x,
                        static_cast<float>(box.bottom), static_cast<float>(box.left), y}}};
}

class CopyPasteTest : public testing::Test {
 protected:
  CopyPasteTest() : folder_(fs::temp_directory_path() / ("attend_copy_paste_" + std::to_string(getpid()))) {}
  ~CopyPasteTest() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(CopyPasteTest, AMaskHasThePixelsWhoseMiddlesAreInside) {
  const LabelledBox box{0, 0.25, 0.25, 0.75, 0.75};
  const PixelMask whole = mask_in(40, 40, box, {});
  EXPECT_EQ(whole.left, 10);
  EXPECT_EQ(whole.area(), 400);
  const PixelMask mask = mask_in(40, 40, box, diamond(box));
  EXPECT_NEAR(static_cast<double>(mask.area()), 200, 12);  // half of the box
  EXPECT_EQ(mask.inside[0], 0);
  EXPECT_EQ(mask.inside[10 * 20 + 10], 1);
  // Two polygons, one inside of the other: a ring.
  ObjectMask ring = diamond(box);
  ring.polygons.push_back({0.45f, 0.45f, 0.55f, 0.45f, 0.55f, 0.55f, 0.45f, 0.55f});
  EXPECT_EQ(mask_in(40, 40, box, ring).inside[10 * 20 + 10], 0);
}

TEST_F(CopyPasteTest, PennFudansMasksAreNumbers) {
  image::Image masks = plain(40, 20, 0);
  for (int y = 6; y < 10; ++y)
    for (int x = 0; x < 12; ++x) std::fill_n(masks.row(y) + 3 * (10 + x), 3, x < 6 ? 1 : 2);
  write_file(folder_ / "P1_mask.png", image::encode_png(masks));
  const LabelledBox box{0, 0.25, 0.25, 0.75, 0.75};
  EXPECT_EQ(mask_in(40, 20, box, {.file = (folder_ / "P1_mask.png").string(), .number = 1}).area(), 24);
  EXPECT_EQ(mask_in(80, 40, box, {.file = (folder_ / "P1_mask.png").string(), .number = 2}).area(), 96);
  EXPECT_THROW(mask_in(40, 20, box, {.file = (folder_ / "gone.png").string(), .number = 1}), Error);
}

TEST_F(CopyPasteTest, AThingBringsItsPixelsAndItsBox) {
  image::Image from = plain(50, 50, 0);
  const LabelledBox box{3, 0.2, 0.2, 0.6, 0.8};
  for (int y = 10; y < 40; ++y) std::fill_n(from.row(y) + 3 * 10, 3 * 20, std::uint8_t{255});
  const auto thing = cut(from, box, {.polygons = {{0.2f, 0.2f, 0.6f, 0.2f, 0.6f, 0.8f, 0.2f, 0.8f}}});
  ASSERT_TRUE(thing);
  EXPECT_EQ(thing->pixels.width, 20);
  EXPECT_DOUBLE_EQ(thing->size, 0.6);
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    PastedImage into{.image = plain(100, 80, 20)};
    image::Draws draws(7, seed), same(7, seed);
    paste(*thing, {}, draws, into);
    ASSERT_EQ(into.boxes.size(), 1u);
    EXPECT_EQ(into.boxes[0].label, 3);
    // White is where the box says, and nowhere else.
    int left = 100, right = 0, top = 80, bottom = 0;
    for (int y = 0; y < 80; ++y)
      for (int x = 0; x < 100; ++x)
        if (into.image.row(y)[3 * x] > 137)
          left = std::min(left, x), right = std::max(right, x + 1), top = std::min(top, y),
          bottom = std::max(bottom, y + 1);
    EXPECT_DOUBLE_EQ(into.boxes[0].left, left / 100.0);
    EXPECT_DOUBLE_EQ(into.boxes[0].right, right / 100.0);
    EXPECT_DOUBLE_EQ(into.boxes[0].top, top / 80.0);
    EXPECT_DOUBLE_EQ(into.boxes[0].bottom, bottom / 80.0);
    // As large as it was in its own image, times 0.7 to 1.4.
    EXPECT_GE(bottom - top, static_cast<int>(0.6 * 80 * 0.7) - 1);
    EXPECT_LE(bottom - top, static_cast<int>(0.6 * 80 * 1.4) + 1);
    PastedImage again{.image = plain(100, 80, 20)};
    paste(*thing, {}, same, again);
    EXPECT_EQ(again.image, into.image);
  }
  EXPECT_FALSE(cut(from, box, {.polygons = {{0.9f, 0.9f, 0.95f, 0.9f, 0.95f, 0.95f}}}));
}

// A thing as large as the image's left part lands on what is there.
TEST_F(CopyPasteTest, WhatIsCoveredShrinksOrGoes) {
  CutOut wall{.label = 1, .pixels = plain(10, 40, 9), .inside = plain(10, 40, 255), .size = 1};
  int shrunk = 0, gone = 0, whole = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    PastedImage into{.image = plain(40, 40, 200), .boxes = {{0, 0.5, 0.5, 0.75, 0.75}}, .visible = {}};
    into.visible.push_back(mask_in(40, 40, into.boxes[0], {}));
    image::Draws draws(1, seed);
    paste(wall, {.least_scale = 1, .most_scale = 1}, draws, into);
    const LabelledBox& pasted = into.boxes.back();
    const double covered =
        std::max(0.0, std::min(0.75, pasted.right) - std::max(0.5, pasted.left)) / 0.25;  // of ten columns
    if (covered > 0.75) {
      ASSERT_EQ(into.boxes.size(), 1u);
      ++gone;
      continue;
    }
    ASSERT_EQ(into.boxes.size(), 2u);
    EXPECT_NEAR(into.boxes[0].right - into.boxes[0].left, 0.25 * (1 - covered), 1e-9);
    EXPECT_NEAR(into.boxes[0].bottom - into.boxes[0].top, 0.25, 1e-9);
    ++(covered > 0 ? shrunk : whole);
  }
  EXPECT_GT(shrunk, 3);
  EXPECT_GT(gone, 0);
  EXPECT_GT(whole, 10);
}

TEST_F(CopyPasteTest, BatchesHaveMoreThingsAndTheSeedDecides) {
  write_scenes(folder_, {.scene = {.size = 48, .objects = 2}, .count = 8, .unseen = 1});
  const DetectionSet set(folder_ / "instances_train.json", {.masks = true});
  ImageCache reader(images_of(set), {});
  DetectionOptions options;
  options.image_size = 48, options.workers = 2, options.crop_chance = 0, options.copy_paste = 3;
  options.copy_paste_chance = 1;
  const DetectionSource source{set, reader, {0, 1, 2, 3, 4, 5, 6, 7}};
  const auto objects = [](const HostDetectionBatch& batch) {
    std::size_t count = 0;
    for (const auto& boxes : batch.boxes) {
      count += boxes.size();
      for (const LabelledBox& box : boxes)
        EXPECT_TRUE(box.left >= 0 && box.top >= 0 && box.right <= 1 && box.bottom <= 1 && box.left < box.right &&
                    box.top < box.bottom);
    }
    return count;
  };
  DetectionBatches one(source, options, {.batch = 8, .seed = 5}), other(source, options, {.batch = 8, .seed = 5});
  other.seek(2);
  HostDetectionBatch third;
  for (int i = 0; i < 3; ++i) third = one.next();
  const HostDetectionBatch same = other.next();
  EXPECT_EQ(third.values, same.values);
  EXPECT_EQ(third.boxes, same.boxes);
  options.copy_paste = 0;
  DetectionBatches none(source, options, {.batch = 8, .seed = 5});
  EXPECT_GT(objects(third), objects(none.next()));

  const DetectionSet blind(folder_ / "instances_train.json");  // masks were not read
  options.copy_paste = 1;
  EXPECT_THROW(DetectionBatches({blind, reader, {0}}, options, {.batch = 1, .seed = 1}), Error);
  options.copy_paste = -1;
  EXPECT_THROW(options.check_ranges(), Error);
}

TEST_F(CopyPasteTest, PolygonsThatCannotBeAreNamed) {
  write_scenes(folder_, {.scene = {.size = 32, .objects = 1}, .count = 2, .unseen = 1});
  Json json = read_json(folder_ / "instances_train.json");
  json["annotations"][0]["segmentation"] = Json::array({Json::array({1, 2, 3})});
  write_file(folder_ / "instances_train.json", json.dump());
  EXPECT_NO_THROW(DetectionSet(folder_ / "instances_train.json"));
  try {
    DetectionSet(folder_ / "instances_train.json", {.masks = true});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("annotation 0"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace attend::data
