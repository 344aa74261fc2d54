// A list of images with boxes around what is in them. What a path is decides how it is read:
//   COCO's file          instances_train.json; its images lie beside it, in train/ beside it, or in ../images,
//                        ../train or ../images/train, unless a folder is given
//   Penn-Fudan's folder  Annotation/*.txt with the images in images/, PNGImages/ or JPEGImages/
// Labels are numbers from 0 on, in the order of the categories' ids. Crowds are there to be scored, not to be learned.
// Both kinds of file are untrusted input: what is missing or makes no sense is an Error that names the place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/data/images/coco_files.h"
#include "attend/data/images/object_masks.h"
#include "attend/image/image.h"

namespace attend::data {

// In parts of the image, whatever its size: files are often kept smaller than their boxes say.
struct LabelledBox {
  std::int32_t label = 0;
  double left = 0, top = 0, right = 0, bottom = 0;
  bool operator==(const LabelledBox&) const = default;
};

struct DetectionReadOptions {
  std::filesystem::path images = {};  // the folder of COCO's images; empty: looked for
  bool masks = false;                 // which pixels are an object's: COCO's polygons, Penn-Fudan's PedMasks
};

class DetectionSet {
 public:
  explicit DetectionSet(const std::filesystem::path& path, const DetectionReadOptions& reading = {});

  std::int64_t size() const { return static_cast<std::int64_t>(files_.size()); }
  const std::vector<std::string>& classes() const { return classes_; }
  // The labels become places in this list, which a model has. Throws Error naming a class that is not in it.
  void use_classes(const std::vector<std::string>& classes);

  std::string name(std::int64_t i) const { return files_[static_cast<std::size_t>(i)].string(); }
  // What is to be learned of it: inside of the image, and no crowd.
  const std::vector<LabelledBox>& boxes(std::int64_t i) const { return boxes_[static_cast<std::size_t>(i)]; }
  // What is known of the pixels of each of those boxes; empty where masks were not asked for.
  const std::vector<ObjectMask>& masks(std::int64_t i) const { return masks_[static_cast<std::size_t>(i)]; }
  // Throws Error when none of the objects of these images has a mask.
  void check_masks(const std::vector<std::int64_t>& items) const;
  // Its id and the size that its boxes were given for.
  const CocoImage& image(std::int64_t i) const { return images_[static_cast<std::size_t>(i)]; }
  // RGB. Throws Error that names the file. Several threads may read.
  image::Image read(std::int64_t i) const;

  // What detections in these images are scored by. Categories are labels here, not the file's.
  Instances truth(const std::vector<std::int64_t>& items) const;
  // "3 boxes left out: .."; empty when there are none.
  const std::string& left_out() const { return left_out_; }

 private:
  void read_coco(const std::filesystem::path& path, const DetectionReadOptions& reading);
  void read_penn_fudan(const std::filesystem::path& folder, const DetectionReadOptions& reading);
  void list_boxes(const std::string& source);

  std::vector<std::string> classes_;
  std::vector<std::filesystem::path> files_;
  std::vector<CocoImage> images_;
  std::vector<TrueObject> objects_;       // image: the number here; category: the label
  std::vector<ObjectMask> object_masks_;  // of those, where they were asked for
  std::vector<std::vector<LabelledBox>> boxes_;
  std::vector<std::vector<ObjectMask>> masks_;  // of the boxes
  std::string left_out_;
};

}  // namespace attend::data
