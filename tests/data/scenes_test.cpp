// Scenes: the boxes are around what is painted, the captions are true, and the files are the same on any number of
// threads.
#include "attend/data/synthetic/scenes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numbers>
#include <set>
#include <string>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/data/synthetic/scenes_folder.h"
#include "attend/image/decode.h"

namespace attend::data {
namespace {

namespace fs = std::filesystem;

constexpr int kScenes = 200;

// The pixels that differ from those of the scene without its objects.
SceneBox changed_pixels(const Scene& scene, int size) {
  Scene empty = scene;
  empty.objects.clear();
  const image::Image before = paint_scene(empty, size), after = paint_scene(scene, size);
  SceneBox box = {1e9, 1e9, -1e9, -1e9};
  for (int y = 0; y < size; ++y)
    for (int x = 0; x < size; ++x)
      for (int c = 0; c < 3; ++c)
        if (before.row(y)[x * 3 + c] != after.row(y)[x * 3 + c])
          box = {std::min(box.left, double(x)), std::min(box.top, double(y)), std::max(box.right, x + 1.0),
                 std::max(box.bottom, y + 1.0)};
  return box;
}

double iou(const SceneBox& a, const SceneBox& b) {
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  return width * height / (a.width() * a.height() + b.width() * b.height() - width * height);
}

TEST(Scenes, BoxesAreAroundWhatIsPainted) {
  const SceneOptions options = {.size = 128, .objects = 4, .seed = 3};
  std::set<int> kinds, colours;
  for (int image = 0; image < kScenes; ++image) {
    const Scene scene = make_scene(options, SceneSet::train, image);
    for (const SceneObject& object : scene.objects) {
      Scene alone = scene;
      alone.objects = {object};
      const SceneBox seen = changed_pixels(alone, options.size);
      // Corners that cover little of a pixel may not be seen.
      EXPECT_NEAR(seen.left, object.box.left, 2) << scene_kind_name(object.kind);
      EXPECT_NEAR(seen.top, object.box.top, 2) << scene_kind_name(object.kind);
      EXPECT_NEAR(seen.right, object.box.right, 2) << scene_kind_name(object.kind);
      EXPECT_NEAR(seen.bottom, object.box.bottom, 2) << scene_kind_name(object.kind);
      EXPECT_TRUE(object.box.left >= 0 && object.box.top >= 0 && object.box.right <= 128 && object.box.bottom <= 128);
      EXPECT_LT(object.area(), object.box.width() * object.box.height() + 1);
      if (object.kind == 0) {
        EXPECT_NEAR(object.area() / std::pow(object.box.width() / 2, 2), std::numbers::pi, 0.05);
      }
      kinds.insert(object.kind);
      colours.insert(object.colour);
    }
  }
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(kSceneKinds));
  EXPECT_EQ(colours.size(), 10u);
}

TEST(Scenes, OverlapIsLimited) {
  for (const double limit : {0.0, 0.1, 0.3}) {
    double most = 0;
    std::size_t objects = 0;
    for (int image = 0; image < kScenes; ++image) {
      const Scene scene = make_scene({.objects = 12, .max_iou = limit, .seed = 5}, SceneSet::train, image);
      EXPECT_TRUE(!scene.objects.empty() && scene.objects.size() <= 12);
      objects = std::max(objects, scene.objects.size());
      for (std::size_t i = 0; i < scene.objects.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) most = std::max(most, iou(scene.objects[i].box, scene.objects[j].box));
    }
    EXPECT_LE(most, limit);
    EXPECT_GE(most, limit * 0.8);  // it is made use of
    EXPECT_GE(objects, 8u);
  }
}

// "a red disc", of any object.
bool names(const std::string& phrase, const SceneObject& object) {
  std::string noun = scene_kind_name(object.kind);
  if (noun.starts_with("digit ")) noun = noun.substr(6);
  const std::string colour(scene_colour_name(object.colour));
  return phrase == (colour == "orange" ? "an " : "a ") + colour + " " + noun;
}

TEST(Scenes, CaptionsAreTrue) {
  const SceneOptions options = {.seed = 9};
  std::map<std::string, int> seen;
  for (int image = 0; image < kScenes; ++image) {
    const Scene scene = make_scene(options, SceneSet::train, image);
    const std::vector<std::string> captions = describe_scene(scene, options, SceneSet::train, image);
    EXPECT_EQ(std::set<std::string>(captions.begin(), captions.end()).size(), 5u);
    for (std::string caption : captions) {
      for (const std::string word : {"above", "below", "to the left of", "to the right of"}) {
        const std::size_t at = caption.find(" " + word + " ");
        if (at == caption.npos || caption.ends_with(" it")) continue;
        std::string first = caption.substr(0, at), second = caption.substr(at + word.size() + 2);
        if (first.starts_with("there is ")) first = first.substr(9);
        if (first.ends_with(" is")) first = first.substr(0, first.size() - 3);
        bool is_true = false;
        for (const SceneObject& a : scene.objects)
          for (const SceneObject& b : scene.objects) {
            if (!names(first, a) || !names(second, b)) continue;
            const double dx = b.box.middle().x - a.box.middle().x, dy = b.box.middle().y - a.box.middle().y;
            is_true |= (word == "above" && dy > 0) || (word == "below" && dy < 0) ||
                       (word == "to the left of" && dx > 0) || (word == "to the right of" && dx < 0);
          }
        EXPECT_TRUE(is_true) << caption;
        ++seen[word];
      }
    }
  }
  EXPECT_EQ(seen.size(), 4u);
}

class SceneFolder : public testing::Test {
 protected:
  SceneFolder() : folder_(fs::temp_directory_path() / ("attend_scenes_" + std::to_string(getpid()))) {}
  ~SceneFolder() override { fs::remove_all(folder_); }

  // Every file below, by its name.
  static std::map<std::string, std::string> contents(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).string()] = read_file(entry.path());
    return files;
  }

  fs::path folder_;
};

TEST_F(SceneFolder, IsCocos) {
  SceneFolderOptions options = {.scene = {.size = 64, .objects = 3, .seed = 2}, .count = 30, .unseen = 7};
  std::int64_t reported = 0;
  options.on_progress = [&](std::int64_t done) { reported = done; };
  const SceneFolderSummary made = write_scenes(folder_ / "set", options);
  EXPECT_EQ(made.images, 37);
  EXPECT_EQ(reported, 37);
  EXPECT_EQ(made.captions, 37 * 5);
  std::size_t objects = 0;
  for (const auto& [set, count] : std::map<std::string, std::size_t>{{"train", 30}, {"valid", 7}}) {
    const Json instances = read_json(folder_ / "set" / ("instances_" + set + ".json"));
    const Json captions = read_json(folder_ / "set" / ("captions_" + set + ".json"));
    EXPECT_EQ(instances.at("images").size(), count);
    EXPECT_EQ(captions.at("images"), instances.at("images"));
    EXPECT_EQ(captions.at("annotations").size(), count * 5);
    EXPECT_EQ(instances.at("categories").size(), 13u);
    EXPECT_EQ(instances.at("categories")[12].at("name"), "digit 9");
    for (const Json& image : instances.at("images")) {
      const image::Image pixels = image::read_image(folder_ / "set" / set / image.at("file_name").text());
      EXPECT_EQ(pixels.width, 64);
      EXPECT_EQ(pixels.height, 64);
    }
    for (const Json& object : instances.at("annotations")) {
      EXPECT_EQ(object.at("iscrowd"), 0);
      EXPECT_LE(object.at("image_id").get<std::size_t>(), count);
      const auto box = object.at("bbox").get<std::vector<double>>();
      EXPECT_LE(box[0] + box[2], 64);
      EXPECT_LE(box[1] + box[3], 64);
      const bool digit = object.at("category_id").get<int>() > 3;
      EXPECT_EQ(object.contains("segmentation"), !digit);
      EXPECT_TRUE(digit || object.at("segmentation")[0].size() >= 6u);
    }
    objects += instances.at("annotations").size();
  }
  EXPECT_EQ(static_cast<std::size_t>(made.objects), objects);
}

TEST_F(SceneFolder, IsTheSameOnAnyNumberOfThreads) {
  SceneFolderOptions options = {.scene = {.size = 48, .seed = 4}, .count = 40, .unseen = 5, .threads = 1};
  write_scenes(folder_ / "one", options);
  options.threads = 4;
  write_scenes(folder_ / "four", options);
  EXPECT_EQ(contents(folder_ / "one"), contents(folder_ / "four"));
  options.count = 20;  // the first of the same, and the same unseen ones
  write_scenes(folder_ / "fewer", options);
  const auto all = contents(folder_ / "one"), fewer = contents(folder_ / "fewer");
  EXPECT_EQ(all.at("train/000000000020.png"), fewer.at("train/000000000020.png"));
  EXPECT_EQ(all.at("instances_valid.json"), fewer.at("instances_valid.json"));
  EXPECT_NE(all.at("train/000000000001.png"), all.at("valid/000000000001.png"));
  options.scene.seed = 5;
  write_scenes(folder_ / "other", options);
  EXPECT_NE(fewer.at("train/000000000020.png"), contents(folder_ / "other").at("train/000000000020.png"));
}

TEST_F(SceneFolder, RefusesAFolderThatHoldsAnything) {
  write_file(folder_ / "set" / "mine.txt", "precious");
  const SceneFolderOptions options = {.scene = {.size = 32}, .count = 3, .unseen = 0};
  try {
    write_scenes(folder_ / "set", options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("mine.txt"), std::string::npos) << error.what();
  }
  EXPECT_EQ(contents(folder_), (std::map<std::string, std::string>{{"set/mine.txt", "precious"}}));
  EXPECT_THROW(write_scenes(folder_ / "set" / "mine.txt", options), Error);
  fs::create_directories(folder_ / "empty");
  write_scenes(folder_ / "empty", options);
  EXPECT_EQ(contents(folder_ / "empty").size(), 3u + 5u);
  EXPECT_THROW(write_scenes(folder_ / "empty", options), Error);  // not twice either
}

TEST_F(SceneFolder, LeavesNothingWhenItIsEnded) {
  SceneFolderOptions options = {.scene = {.size = 32}, .count = 300, .unseen = 1};
  options.on_progress = [](std::int64_t) { fail("enough"); };
  EXPECT_THROW(write_scenes(folder_ / "set", options), Error);
  EXPECT_FALSE(fs::exists(folder_ / "set"));
  EXPECT_TRUE(!fs::exists(folder_) || fs::is_empty(folder_));
}

TEST_F(SceneFolder, RefusesWhatCannotBe) {
  const fs::path place = folder_ / "set";
  EXPECT_THROW(write_scenes(place, {.scene = {.size = 8}}), Error);
  EXPECT_THROW(write_scenes(place, {.scene = {.objects = 0}}), Error);
  EXPECT_THROW(write_scenes(place, {.scene = {.max_iou = 2}}), Error);
  EXPECT_THROW(write_scenes(place, {.scene = {.max_iou = std::nan("")}}), Error);
  EXPECT_THROW(write_scenes(place, {.count = -1}), Error);
  EXPECT_THROW(write_scenes(place, {.count = 0, .unseen = 0}), Error);
  EXPECT_FALSE(fs::exists(place));
}

}  // namespace
}  // namespace attend::data
