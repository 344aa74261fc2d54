#include "attend/data/images/coco_files.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"

namespace attend::data {

namespace {

namespace fs = std::filesystem;
using Ids = std::unordered_set<std::int64_t>;

constexpr std::int64_t kLargestEdge = 1'000'000;
constexpr double kLargestFloatId = 9007199254740992.0;  // 2^53: whole numbers below it are exact

std::string_view kind_of(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_boolean()) return "true or false";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "a string";
  return value.is_array() ? "a list" : "an object";
}

// One object of a list, with its name for messages: "instances.json, annotation 3".
class CocoEntry {
 public:
  CocoEntry(const Json& json, std::string name) : json_(json), name_(std::move(name)) {
    check(json.is_object(), "{} is {}, not an object", name_, kind_of(json));
  }

  const std::string& name() const { return name_; }
  bool has(std::string_view key) const { return json_.contains(key); }

  std::int64_t id(std::string_view key) const {
    const Json& value = at(key);
    // Programs that keep numbers in tables of floats write 42 as 42.0.
    const bool whole =
        value.is_number_integer() || (value.is_number() && std::abs(value.get<double>()) < kLargestFloatId &&
                                      value.get<double>() == std::trunc(value.get<double>()));
    check(whole, "{}: \"{}\" must be a whole number, not {}", name_, key, shown_value(value));
    return value.is_number_integer() ? value.get<std::int64_t>() : static_cast<std::int64_t>(value.get<double>());
  }

  // One of those in `known`, which are the ids of what.
  std::int64_t id(std::string_view key, const Ids& known, std::string_view what) const {
    const std::int64_t value = id(key);
    check(known.contains(value), "{}: \"{}\" is {}, but {} has no such id", name_, key, value, what);
    return value;
  }

  // A height or a width.
  int edge(std::string_view key) const {
    const std::int64_t value = id(key);
    check(value >= 1 && value <= kLargestEdge, "{}: \"{}\" must be 1 to {} pixels, not {}", name_, key, kLargestEdge,
          value);
    return static_cast<int>(value);
  }

  double number(std::string_view key) const { return real(at(key), key); }

  std::string text(std::string_view key) const {
    const Json& value = at(key);
    check(value.is_string(), "{}: \"{}\" must be a string, not {}", name_, key, kind_of(value));
    return value.text();
  }

  bool crowd() const {
    if (!has("iscrowd")) return false;
    const Json& value = at("iscrowd");
    check(value == Json(0) || value == Json(1) || value.is_boolean(), "{}: \"iscrowd\" must be 0 or 1, not {}", name_,
          shown_value(value));
    return value == Json(1) || value == Json(true);
  }

  CocoOutline outline() const {
    CocoOutline outline;
    if (!has("segmentation") || !at("segmentation").is_array()) return outline;
    for (const Json& polygon : at("segmentation")) {
      check(polygon.is_array() && polygon.size() >= 6 && polygon.size() % 2 == 0,
            "{}: a polygon of \"segmentation\" must be a list of x and y of at least three points", name_);
      std::vector<float>& points = outline.emplace_back();
      for (const Json& number : polygon) points.push_back(static_cast<float>(real(number, "segmentation")));
    }
    return outline;
  }

  Box box() const {
    const Json& value = at("bbox");
    check(value.is_array() && value.size() == 4, "{}: \"bbox\" must be [x, y, width, height], not {}", name_,
          value.is_array() ? fmt::format("a list of {}", value.size()) : std::string(kind_of(value)));
    return {real(value[0], "bbox"), real(value[1], "bbox"), real(value[2], "bbox"), real(value[3], "bbox")};
  }

 private:
  const Json& at(std::string_view key) const {
    const Json* found = json_.find(key);
    check(found != json_.end(), "{} has no \"{}\"", name_, key);
    return *found;
  }

  double real(const Json& value, std::string_view key) const {
    check(value.is_number(), "{}: \"{}\" must be a number, not {}", name_, key, shown_value(value));
    return value.get<double>();
  }

  static std::string shown_value(const Json& value) {
    return value.is_number() ? value.dump() : std::string(kind_of(value));
  }

  const Json& json_;
  std::string name_;
};

// Calls read(entry) for each of a list; what: "annotation".
template <class Read>
void for_each_entry(const Json& list, const std::string& file, std::string_view what, Read read) {
  std::size_t number = 0;
  for (const Json& item : list) read(CocoEntry(item, fmt::format("{}, {} {}", file, what, number++)));
}

const Json& list_of(const Json& file, const std::string& name, std::string_view key) {
  check(file.is_object(), "{}: it is {}, not COCO's object with \"images\" and \"annotations\"", name, kind_of(file));
  const Json* list = file.find(key);
  check(list != file.end(), "{}: it has no \"{}\"", name, key);
  check(list->is_array(), "{}: \"{}\" must be a list, not {}", name, key, kind_of(*list));
  return *list;
}

Ids read_ids(const Json& file, const std::string& name, std::string_view key, std::string_view what) {
  Ids ids;
  for_each_entry(list_of(file, name, key), name, what, [&](const CocoEntry& entry) {
    const std::int64_t id = entry.id("id");
    check(ids.insert(id).second, "{}: its \"id\" {} is that of another {} as well", entry.name(), id, what);
  });
  return ids;
}

// Python writes numbers that are none as NaN and Infinity, which JSON does not know. The entry of the outermost list
// that holds the first one.
std::optional<std::size_t> entry_without_number(std::string_view text) {
  int depth = 0;
  std::size_t entry = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 1) {
      ++entry;
    } else if (text.substr(i).starts_with("NaN") || text.substr(i).starts_with("Infinity")) {
      return entry;
    }
  }
  return std::nullopt;
}

// A list of results. what: "detection".
Json read_results(const fs::path& path, std::string_view what) {
  const std::string text = read_file(path), name = path.string();
  if (const auto entry = entry_without_number(text))
    fail("{}, {} {}: NaN and Infinity are no numbers; leave such a {} out", name, what, *entry, what);
  Json list = parse_json(text, name);
  check(list.is_array(), "{}: results are a list of {}s, not {}", name, what, kind_of(list));
  return list;
}

Instances instances_of(const Json& file, const std::string& name) {
  Instances instances;
  const Ids images = read_ids(file, name, "images", "image");
  instances.images.assign(images.begin(), images.end());
  const Ids categories = read_ids(file, name, "categories", "category");
  for_each_entry(list_of(file, name, "categories"), name, "category", [&](const CocoEntry& entry) {
    instances.categories.push_back({entry.id("id"), entry.has("name") ? entry.text("name") : ""});
  });
  std::sort(instances.categories.begin(), instances.categories.end(),
            [](const Category& a, const Category& b) { return a.id < b.id; });
  read_ids(file, name, "annotations", "annotation");
  for_each_entry(list_of(file, name, "annotations"), name, "annotation", [&](const CocoEntry& entry) {
    instances.objects.push_back({.image = entry.id("image_id", images, "\"images\""),
                                 .category = entry.id("category_id", categories, "\"categories\""),
                                 .box = entry.box(),
                                 .area = entry.number("area"),
                                 .crowd = entry.crowd()});
  });
  return instances;
}

}  // namespace

Instances read_instances(const fs::path& path) { return instances_of(read_json(path), path.string()); }

CocoSet read_coco_set(const fs::path& path, const CocoReadOptions& reading) {
  const std::string name = path.string();
  const Json file = read_json(path);
  CocoSet set{.truth = instances_of(file, name), .images = {}};
  for_each_entry(list_of(file, name, "images"), name, "image", [&](const CocoEntry& entry) {
    set.images.push_back({entry.id("id"), entry.text("file_name"), entry.edge("width"), entry.edge("height")});
  });
  if (reading.outlines)
    for_each_entry(list_of(file, name, "annotations"), name, "annotation",
                   [&](const CocoEntry& entry) { set.outlines.push_back(entry.outline()); });
  return set;
}

std::vector<CocoName> read_coco_names(const fs::path& path) {
  const std::string name = path.string();
  const Json file = read_json(path);
  read_ids(file, name, "images", "image");
  std::vector<CocoName> names;
  for_each_entry(list_of(file, name, "images"), name, "image", [&](const CocoEntry& entry) {
    names.push_back({entry.id("id"), entry.text("file_name")});
  });
  return names;
}

DetectionFile read_detections(const fs::path& path, const Instances& truth) {
  const Ids images(truth.images.begin(), truth.images.end());
  Ids categories;
  for (const Category& category : truth.categories) categories.insert(category.id);
  DetectionFile file;
  for_each_entry(read_results(path, "detection"), path.string(), "detection", [&](const CocoEntry& entry) {
    file.detections.push_back({.image = entry.id("image_id", images, "the ground truth"),
                               .category = entry.id("category_id"),
                               .box = entry.box(),
                               .score = entry.number("score")});
    file.unknown += !categories.contains(file.detections.back().category);
  });
  return file;
}

CaptionFiles read_captions(const fs::path& truth, const fs::path& results) {
  const std::string name = truth.string();
  const Json file = read_json(truth);
  const Ids images = read_ids(file, name, "images", "image");
  std::map<std::int64_t, std::vector<std::string>> references;
  for_each_entry(list_of(file, name, "annotations"), name, "annotation", [&](const CocoEntry& entry) {
    references[entry.id("image_id", images, "\"images\"")].push_back(entry.text("caption"));
  });
  std::map<std::int64_t, CocoCaptions> captioned;
  for_each_entry(read_results(results, "caption"), results.string(), "caption", [&](const CocoEntry& entry) {
    const std::int64_t image = entry.id("image_id", images, "the ground truth");
    const auto found = references.find(image);
    check(found != references.end(), "{}: the ground truth has no caption of image {}", entry.name(), image);
    const auto [at, added] = captioned.try_emplace(image, CocoCaptions{entry.text("caption"), found->second});
    check(added, "{}: image {} has a caption already; it takes one", entry.name(), image);
  });
  check(!captioned.empty(), "{}: it has no captions to score", results.string());
  CaptionFiles captions;
  for (auto& [image, one] : captioned) captions.images.push_back(std::move(one));
  captions.left_out = static_cast<std::int64_t>(references.size() - captioned.size());
  return captions;
}

}  // namespace attend::data
