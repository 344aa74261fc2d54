#include "attend/data/synthetic/scenes_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/new_folder.h"
#include "attend/base/thread_pool.h"
#include "attend/image/encode.h"

namespace attend::data {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kChunk = 256;  // images between two calls of on_progress
constexpr int kSceneJpegQuality = 92;

// All that the JSON files say of an image.
struct MadeImage {
  struct Item {
    int kind = 0;
    SceneBox box = {};
    double area = 0;
    std::vector<double> outline = {};
  };
  std::vector<Item> items;
  std::vector<std::string> captions;
  std::size_t bytes = 0;
};

double to_hundredths(double value) { return std::round(value * 100) / 100; }

std::string image_name(std::int64_t id, SceneFormat format) {
  return fmt::format("{:012}.{}", id, format == SceneFormat::png ? "png" : "jpg");
}

MadeImage make_image(const fs::path& folder, const SceneFolderOptions& options, SceneSet set, std::int64_t id) {
  const auto number = static_cast<std::uint64_t>(id - 1);
  const Scene scene = make_scene(options.scene, set, number);
  const image::Image image = paint_scene(scene, options.scene.size);
  const std::string bytes = options.format == SceneFormat::png
                                ? image::encode_png(image)
                                : image::encode_jpeg(image, {.quality = kSceneJpegQuality, .full_colour = true});
  write_file(folder / image_name(id, options.format), bytes);
  MadeImage made;
  for (const SceneObject& object : scene.objects)
    made.items.push_back({object.kind, object.box, object.area(), object.outline()});
  made.captions = describe_scene(scene, options.scene, set, number);
  made.bytes = bytes.size();
  return made;
}

Json images_json(const SceneFolderOptions& options, std::int64_t count) {
  Json images = Json::array();
  images.reserve(static_cast<std::size_t>(count));
  for (std::int64_t id = 1; id <= count; ++id)
    images.push_back({{"id", id},
                      {"file_name", image_name(id, options.format)},
                      {"width", options.scene.size},
                      {"height", options.scene.size}});
  return images;
}

Json categories_json() {
  Json categories = Json::array();
  for (int kind = 0; kind < kSceneKinds; ++kind) {
    const std::string name = scene_kind_name(kind);
    categories.push_back(
        {{"id", kind + 1}, {"name", name}, {"supercategory", name.starts_with("digit") ? "digit" : "shape"}});
  }
  return categories;
}

Json annotation_json(const MadeImage::Item& item, std::int64_t id, std::int64_t image) {
  // The corners are rounded, not the sizes, so that x + width is the right edge.
  const double left = to_hundredths(item.box.left), top = to_hundredths(item.box.top);
  Json annotation = {{"id", id}, {"image_id", image}, {"category_id", item.kind + 1}};
  annotation["bbox"] = Json::array({left, top, to_hundredths(to_hundredths(item.box.right) - left),
                                    to_hundredths(to_hundredths(item.box.bottom) - top)});
  annotation["area"] = to_hundredths(item.area);
  annotation["iscrowd"] = 0;
  if (!item.outline.empty()) {
    Json outline = Json::array();
    for (const double value : item.outline) outline.push_back(to_hundredths(value));
    annotation["segmentation"] = Json::array();
    annotation["segmentation"].push_back(std::move(outline));
  }
  return annotation;
}

// The images of one set, and its two JSON files.
class SetWriter {
 public:
  SetWriter(const fs::path& folder, const SceneFolderOptions& options, ThreadPool& pool, SceneFolderSummary& summary)
      : folder_(folder), options_(options), pool_(pool), summary_(summary) {}

  void write(SceneSet set, std::int64_t count) {
    const std::string name = set == SceneSet::train ? "train" : "valid";
    make_folders(folder_ / name);
    Json objects = Json::array(), captions = Json::array();
    std::vector<MadeImage> chunk;
    for (std::int64_t first = 0; first < count; first += kChunk) {
      chunk.assign(static_cast<std::size_t>(std::min(kChunk, count - first)), {});
      pool_.for_each(static_cast<std::int64_t>(chunk.size()), [&](std::int64_t i) {
        chunk[static_cast<std::size_t>(i)] = make_image(folder_ / name, options_, set, first + i + 1);
      });
      for (std::size_t i = 0; i < chunk.size(); ++i)
        add(chunk[i], first + static_cast<std::int64_t>(i) + 1, objects, captions);
      if (options_.on_progress) options_.on_progress(summary_.images);
    }
    const Json info = {{"description", "attend make-data scenes"}, {"version", "1"}};
    const Json images = images_json(options_, count);
    write_json("instances_" + name, {{"info", info},
                                     {"licenses", Json::array()},
                                     {"images", images},
                                     {"categories", categories_json()},
                                     {"annotations", std::move(objects)}});
    write_json("captions_" + name, {{"info", info},
                                    {"licenses", Json::array()},
                                    {"type", "captions"},
                                    {"images", images},
                                    {"annotations", std::move(captions)}});
  }

 private:
  void add(const MadeImage& image, std::int64_t id, Json& objects, Json& captions) {
    for (const MadeImage::Item& item : image.items)
      objects.push_back(annotation_json(item, static_cast<std::int64_t>(objects.size()) + 1, id));
    for (const std::string& caption : image.captions)
      captions.push_back(
          {{"id", static_cast<std::int64_t>(captions.size()) + 1}, {"image_id", id}, {"caption", caption}});
    ++summary_.images;
    summary_.objects += static_cast<std::int64_t>(image.items.size());
    summary_.captions += static_cast<std::int64_t>(image.captions.size());
    summary_.bytes += static_cast<std::int64_t>(image.bytes);
  }

  void write_json(const std::string& name, const Json& json) {
    write_file(folder_ / (name + ".json"), json.dump() + "\n");
  }

  const fs::path& folder_;
  const SceneFolderOptions& options_;
  ThreadPool& pool_;
  SceneFolderSummary& summary_;
};

}  // namespace

SceneFolderSummary write_scenes(const fs::path& folder, const SceneFolderOptions& options) {
  for (const std::int64_t count : {options.count, options.unseen})
    check(count >= 0 && count <= kMostScenes, "scenes: a set has up to {} images, not {}", kMostScenes, count);
  check(options.count + options.unseen > 0, "scenes: there are no images to make");
  make_scene(options.scene, SceneSet::train, 0);  // says what is wrong with the options before there is a folder
  check_empty_folder(folder, "scenes");
  NewFolder made(folder);
  ThreadPool pool(options.threads);
  SceneFolderSummary summary;
  SetWriter writer(made.path(), options, pool, summary);
  writer.write(SceneSet::train, options.count);
  writer.write(SceneSet::valid, options.unseen);
  const SceneOptions& scene = options.scene;
  write_file(made.path() / "scenes.json", Json({{"count", options.count},
                                                {"unseen", options.unseen},
                                                {"size", scene.size},
                                                {"objects", scene.objects},
                                                {"max_iou", scene.max_iou},
                                                {"seed", scene.seed}})
                                                  .dump(1) +
                                              "\n");
  made.take_place();
  return summary;
}

}  // namespace attend::data
