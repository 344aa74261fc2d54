#include "attend/data/images/captioned_images.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/limits.h"
#include "attend/base/lines.h"
#include "attend/base/paths.h"
#include "attend/base/unicode/unicode.h"

namespace attend::data {

namespace {

namespace fs = std::filesystem;

// Captions by image, images in the order of the file.
struct Listed {
  std::vector<std::string> files;
  std::vector<std::vector<std::string>> captions;
  std::unordered_map<std::string, std::size_t> places;
  std::int64_t wrong = 0;  // captions that are empty or not UTF-8

  std::size_t place(const std::string& file) {
    const auto [found, fresh] = places.try_emplace(file, files.size());
    if (fresh) files.push_back(file), captions.emplace_back();
    check(static_cast<std::int64_t>(files.size()) <= limits::kMostImages, "more than {} images", limits::kMostImages);
    return found->second;
  }
  void add(std::size_t at, std::string_view caption) {
    while (!caption.empty() && (caption.back() == ' ' || caption.back() == '\r')) caption.remove_suffix(1);
    while (!caption.empty() && caption.front() == ' ') caption.remove_prefix(1);
    if (caption.empty() || find_invalid_utf8(caption))
      ++wrong;
    else
      captions[at].emplace_back(caption);
  }
};

void for_each_line(const std::string& text,
                   const std::function<void(std::string_view line, std::int64_t number)>& use) {
  std::int64_t number = 0;
  for (std::string_view rest = without_mark(text); !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    ++number;
    if (!line.empty()) use(line, number);
  }
}

const Json& list_of(const Json& json, const char* key, const std::string& path) {
  const Json* found = json.is_object() ? json.find(key) : json.end();
  check(found != json.end() && found->is_array(),
        "{}: is no file of captions: it has no list \"{}\" (COCO's form: images and annotations)", path, key);
  return *found;
}

template <class Value>
Value value_of(const Json& entry, const char* key, const std::string& path, const char* list, std::size_t number) {
  const Json* found = entry.is_object() ? entry.find(key) : entry.end();
  constexpr bool kText = std::is_same_v<Value, std::string>;
  check(found != entry.end() && (kText ? found->is_string() : found->is_number_integer()),
        "{}: entry {} of \"{}\" has no \"{}\" that is {}", path, number, list, key, kText ? "text" : "a whole number");
  return found->get<Value>();
}

Listed read_coco(const std::string& path) {
  const Json json = read_json(path);
  const Json &images = list_of(json, "images", path), &annotations = list_of(json, "annotations", path);
  Listed listed;
  std::unordered_map<std::int64_t, std::size_t> by_id;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto id = value_of<std::int64_t>(images[i], "id", path, "images", i);
    const auto file = value_of<std::string>(images[i], "file_name", path, "images", i);
    check(by_id.try_emplace(id, listed.place(file)).second, "{}: two images have the id {}", path, id);
  }
  for (std::size_t i = 0; i < annotations.size(); ++i) {
    const auto id = value_of<std::int64_t>(annotations[i], "image_id", path, "annotations", i);
    const auto found = by_id.find(id);
    check(found != by_id.end(), "{}: entry {} of \"annotations\" is about image {}, which is not among the images",
          path, i, id);
    listed.add(found->second, value_of<std::string>(annotations[i], "caption", path, "annotations", i));
  }
  return listed;
}

Listed read_tokens(const std::string& path) {
  Listed listed;
  for_each_line(read_text(path), [&](std::string_view line, std::int64_t number) {
    std::size_t end = line.find('\t');
    if (end == line.npos) end = line.find(',');
    check(end != line.npos && end > 0, "{}: line {} is no image and a caption, divided by a tab", path, number);
    std::string_view file = line.substr(0, end);
    if (const std::size_t mark = file.rfind('#'); mark != file.npos) file = file.substr(0, mark);
    if (number == 1 && (file == "image" || file == "file")) return;  // a header
    check(file.find('\0') == file.npos && !find_invalid_utf8(file), "{}: line {} names no file", path, number);
    listed.add(listed.place(std::string(file)), line.substr(end + 1));
  });
  return listed;
}

// Where images of a file of captions may be, likeliest first.
std::vector<fs::path> places_beside(const fs::path& path) {
  const fs::path here = path.parent_path().empty() ? fs::path(".") : path.parent_path(), above = here / "..";
  std::vector<fs::path> places = {here};
  const std::string stem = path.stem().string();
  if (const std::size_t at = stem.find('_'); at != stem.npos) {
    places.push_back(here / stem.substr(at + 1));
    places.push_back(above / stem.substr(at + 1));
  }
  for (const fs::path& folder : {here, above}) {
    std::error_code ignored;
    std::vector<fs::path> found;
    for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
      const std::string name = entry->path().filename().string();
      if (name.starts_with("image") || name.starts_with("Image") || name.starts_with("Flick"))
        found.push_back(entry->path());
    }
    std::ranges::sort(found);
    places.insert(places.end(), found.begin(), found.end());
  }
  return places;
}

fs::path find_images(const fs::path& path, const Listed& listed) {
  constexpr std::size_t kTried = 20;
  for (const fs::path& place : places_beside(path))
    for (std::size_t i = 0; i < std::min(listed.files.size(), kTried); ++i)
      if (path_exists(place / listed.files[i])) return place;
  fail("{}: the images it is about ('{}', ..) are not beside it; say where they are with --images", path.string(),
       listed.files.front());
}

std::vector<std::string> names_in(const fs::path& path) {
  std::vector<std::string> names;
  for_each_line(read_text(path), [&](std::string_view line, std::int64_t) {
    while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
    if (!line.empty()) names.emplace_back(line);
  });
  check(!names.empty(), "{}: names no images", path.string());
  return names;
}

}  // namespace

CaptionedImages read_captioned_images(const fs::path& path, const CaptionedImagesOptions& options) {
  check(path_exists(path) && !is_folder(path), "{}: there is no such file of captions", path.string());
  const Listed listed = path.extension() == ".json" ? read_coco(path.string()) : read_tokens(path.string());
  check(!listed.files.empty(), "{}: has no captions", path.string());
  CaptionedImages result{.root = options.images.empty() ? find_images(path, listed) : options.images};
  check(is_folder(result.root), "{}: there is no such folder of images", result.root.string());
  const std::vector<std::string> wanted = options.names.empty() ? listed.files : names_in(options.names);
  std::int64_t unknown = 0, missing = 0;
  for (const std::string& file : wanted) {
    const auto found = listed.places.find(file);
    if (found == listed.places.end() || listed.captions[found->second].empty()) {
      ++unknown;
    } else if (!path_exists(result.root / file)) {
      ++missing;
    } else {
      result.files.push_back(file);
      result.captions.push_back(listed.captions[found->second]);
    }
  }
  check(!result.files.empty(), "{}: of {} images {} have no caption and {} are not in {}", path.string(), wanted.size(),
        unknown, missing, result.root.string());
  if (unknown + missing + listed.wrong > 0)
    result.left_out = fmt::format(
        "{}: left out {} images without a caption, {} that are not there, and {} captions "
        "that are empty or not UTF-8",
        path.string(), unknown, missing, listed.wrong);
  return result;
}

}  // namespace attend::data
