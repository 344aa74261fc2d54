// COCO's files of objects and captions, and the files of results that go with them. They are untrusted input: what is
// missing, of another type or unknown is an Error that names the file and the entry, counted from 0 as in the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attend/data/images/annotations.h"

namespace attend::data {

// instances_*.json: {"images": [{"id"}], "categories": [{"id", "name"}], "annotations": [{"id", "image_id",
// "category_id", "bbox": [x, y, width, height], "area", "iscrowd"}]}. An annotation with id 0 is one like all others
// (pycocotools counts what finds it as wrong).
Instances read_instances(const std::filesystem::path& path);

// The same with what is said of the images: their files, and the sizes that the boxes go by.
struct CocoImage {
  std::int64_t id = 0;
  std::string file = {};
  int width = 0, height = 0;
};
// Where an object is: polygons, x and y in turn, in pixels. Empty where the file does not say, or says it as runs.
using CocoOutline = std::vector<std::vector<float>>;
struct CocoSet {
  Instances truth;
  std::vector<CocoImage> images;           // in the order of the file
  std::vector<CocoOutline> outlines = {};  // of the objects, where they were asked for
};
struct CocoReadOptions {
  bool outlines = false;  // of millions of objects they are most of the file
};
CocoSet read_coco_set(const std::filesystem::path& path, const CocoReadOptions& reading = {});

// What the images of a file of instances or captions are called.
struct CocoName {
  std::int64_t id = 0;
  std::string file = {};
};
std::vector<CocoName> read_coco_names(const std::filesystem::path& path);

// [{"image_id", "category_id", "bbox", "score"}]. As in pycocotools, an image that is not in the instances is an
// error, and detections of other categories are left out: unknown counts them.
struct DetectionFile {
  std::vector<Detection> detections;
  std::int64_t unknown = 0;
};
DetectionFile read_detections(const std::filesystem::path& path, const Instances& truth);

// captions_*.json: {"images": [{"id"}], "annotations": [{"image_id", "caption"}]}; results: [{"image_id", "caption"}].
struct CocoCaptions {
  std::string hypothesis;
  std::vector<std::string> references = {};  // at least one
};
struct CaptionFiles {
  std::vector<CocoCaptions> images;  // those of the results, by id
  std::int64_t left_out = 0;         // images that have references and no result
};
CaptionFiles read_captions(const std::filesystem::path& truth, const std::filesystem::path& results);

}  // namespace attend::data
