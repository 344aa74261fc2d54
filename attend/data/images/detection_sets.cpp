#include "attend/data/images/detection_sets.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/paths.h"
#include "attend/data/images/penn_fudan.h"
#include "attend/image/decode.h"

namespace attend::data {

namespace {

namespace fs = std::filesystem;

// Where COCO's images usually lie: instances_train.json has them in train.
fs::path coco_images(const fs::path& path, const std::string& first) {
  std::string set = path.stem().string();
  if (const std::size_t bar = set.find('_'); bar != std::string::npos) set.erase(0, bar + 1);
  const fs::path here = path.parent_path(), above = here / "..";
  for (const fs::path& folder :
       {here, here / set, here / "images", above / "images", above / set, above / "images" / set})
    if (path_exists(folder / first)) return folder;
  fail("{}: where are its images? '{}' is neither beside it, nor in {}, images, ../images, ../{} or ../images/{}",
       path.string(), first, set, set, set);
}

std::string name_of(const Category& category) {
  return category.name.empty() ? fmt::format("{}", category.id) : category.name;
}

}  // namespace

DetectionSet::DetectionSet(const fs::path& path, const DetectionReadOptions& reading) {
  if (is_folder(path))
    read_penn_fudan(path, reading);
  else
    read_coco(path, reading);
  check(!files_.empty(), "{}: it has no images", path.string());
  check(!classes_.empty(), "{}: it has no categories", path.string());
  list_boxes(path.string());
}

void DetectionSet::read_coco(const fs::path& path, const DetectionReadOptions& reading) {
  CocoSet set = read_coco_set(path, {.outlines = reading.masks});
  check(!set.images.empty(), "{}: it has no images", path.string());
  const fs::path folder = reading.images.empty() ? coco_images(path, set.images[0].file) : reading.images;
  std::unordered_map<std::int64_t, std::int64_t> numbers, labels;
  for (CocoImage& image : set.images) {
    numbers[image.id] = size();
    files_.push_back(folder / image.file);
    images_.push_back(std::move(image));
  }
  for (const Category& category : set.truth.categories) {
    labels[category.id] = static_cast<std::int64_t>(classes_.size());
    classes_.push_back(name_of(category));
    check(std::ranges::count(classes_, classes_.back()) == 1, "{}: two categories are called '{}'", path.string(),
          classes_.back());
  }
  objects_ = std::move(set.truth.objects);
  for (TrueObject& object : objects_)
    object.image = numbers.at(object.image), object.category = labels.at(object.category);
  for (std::size_t i = 0; i < set.outlines.size(); ++i) {
    const CocoImage& image = images_[static_cast<std::size_t>(objects_[i].image)];
    ObjectMask& mask = object_masks_.emplace_back();
    for (std::vector<float>& polygon : set.outlines[i]) {
      for (std::size_t k = 0; k < polygon.size(); ++k)
        polygon[k] /= static_cast<float>(k % 2 == 0 ? image.width : image.height);
      mask.polygons.push_back(std::move(polygon));
    }
  }
}

void DetectionSet::read_penn_fudan(const fs::path& folder, const DetectionReadOptions& reading) {
  classes_ = {"person"};
  for (PennFudanImage& image : data::read_penn_fudan(folder)) {
    const fs::path masks = folder / "PedMasks" / (image.file.stem().string() + "_mask.png");
    const bool drawn = reading.masks && path_exists(masks);
    for (const Box& box : image.boxes) {
      objects_.push_back({.image = size(), .category = 0, .box = box, .area = box.area()});
      // Their pixels have the number of the object, counted from 1 in the order of the boxes.
      const int number = static_cast<int>(&box - image.boxes.data()) + 1;
      if (reading.masks)
        object_masks_.push_back(drawn ? ObjectMask{.file = masks.string(), .number = number} : ObjectMask{});
    }
    images_.push_back(
        {.id = size() + 1, .file = image.file.filename().string(), .width = image.width, .height = image.height});
    files_.push_back(std::move(image.file));
  }
}

void DetectionSet::list_boxes(const std::string& source) {
  boxes_.resize(files_.size()), masks_.resize(files_.size());
  std::int64_t empty = 0;
  std::string first;
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    const TrueObject& object = objects_[i];
    if (object.crowd) continue;
    const auto at = static_cast<std::size_t>(object.image);
    const double width = images_[at].width, height = images_[at].height;
    const auto part = [](double place, double whole) { return std::clamp(place / whole, 0.0, 1.0); };
    const LabelledBox box{.label = static_cast<std::int32_t>(object.category),
                          .left = part(object.box.x, width),
                          .top = part(object.box.y, height),
                          .right = part(object.box.x + object.box.width, width),
                          .bottom = part(object.box.y + object.box.height, height)};
    if (box.right <= box.left || box.bottom <= box.top) {
      if (++empty == 1)
        first = fmt::format("a {} in {}", classes_[static_cast<std::size_t>(object.category)], images_[at].file);
      continue;
    }
    boxes_[at].push_back(box);
    if (!object_masks_.empty()) masks_[at].push_back(std::move(object_masks_[i]));
  }
  object_masks_ = {};
  if (empty > 0)
    left_out_ = fmt::format("{}: {} boxes left out, of which nothing is in the image; the first is of {}", source,
                            empty, first);
}

void DetectionSet::use_classes(const std::vector<std::string>& classes) {
  std::vector<std::int32_t> place;
  for (const std::string& name : classes_) {
    const auto found = std::ranges::find(classes, name);
    check(found != classes.end(), "'{}' is none of the {} classes that are learned ('{}' is one)", name, classes.size(),
          classes.empty() ? "" : classes.front());
    place.push_back(static_cast<std::int32_t>(found - classes.begin()));
  }
  for (auto& boxes : boxes_)
    for (LabelledBox& box : boxes) box.label = place[static_cast<std::size_t>(box.label)];
  for (TrueObject& object : objects_) object.category = place[static_cast<std::size_t>(object.category)];
  classes_ = classes;
}

void DetectionSet::check_masks(const std::vector<std::int64_t>& items) const {
  const bool any = std::ranges::any_of(
      items, [&](std::int64_t item) { return std::ranges::any_of(masks(item), &ObjectMask::known); });
  check(
      any,
      "copy_paste: none of the objects has a mask; COCO's files have them as polygons (\"segmentation\"), Penn-Fudan's "
      "folder in PedMasks");
}

image::Image DetectionSet::read(std::int64_t i) const { return image::read_image(name(i)); }

Instances DetectionSet::truth(const std::vector<std::int64_t>& items) const {
  Instances truth;
  std::vector<bool> wanted(files_.size());
  for (const std::int64_t item : items) wanted[static_cast<std::size_t>(item)] = true;
  truth.images = items;
  for (std::size_t i = 0; i < classes_.size(); ++i)
    truth.categories.push_back({static_cast<std::int64_t>(i), classes_[i]});
  for (const TrueObject& object : objects_)
    if (wanted[static_cast<std::size_t>(object.image)]) truth.objects.push_back(object);
  return truth;
}

}  // namespace attend::data
