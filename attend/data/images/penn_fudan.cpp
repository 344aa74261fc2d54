#include "attend/data/images/penn_fudan.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "attend/base/error.h"
#include "attend/base/lines.h"
#include "attend/base/paths.h"

namespace attend::data {

namespace {

namespace fs = std::filesystem;

constexpr int kLargestAnnotated = 1'000'000;

// What the words of a line are behind its last colon.
std::string_view behind_colon(std::string_view line) {
  const std::size_t at = line.rfind(" : ");
  return at == std::string_view::npos ? std::string_view() : line.substr(at + 3);
}

// All whole numbers of a text, in order.
std::vector<int> numbers_in(std::string_view text) {
  std::vector<int> numbers;
  for (std::size_t at = 0; at < text.size();) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (error == std::errc()) numbers.push_back(number);
    at = error == std::errc() ? static_cast<std::size_t>(end - text.data()) : at + 1;
  }
  return numbers;
}

fs::path image_of(const fs::path& folder, const fs::path& annotation) {
  for (const char* room : {"images", "PNGImages", "JPEGImages"})
    for (const char* ending : {".png", ".jpg", ".jpeg"})
      if (const fs::path file = folder / room / (annotation.stem().string() + ending); path_exists(file)) return file;
  fail("{}: its image is missing: {} has none called {} in images, PNGImages or JPEGImages", annotation.string(),
       folder.string(), annotation.stem().string());
}

Box box_of(std::string_view line, const PennFudanImage& image, const std::string& where) {
  const std::vector<int> corners = numbers_in(behind_colon(line));
  check(corners.size() == 4, "{}: a box is (x, y) - (x, y), not '{}'", where, behind_colon(line));
  const auto [left, top, right, bottom] = std::array{corners[0], corners[1], corners[2], corners[3]};
  check(left >= 1 && top >= 1 && left <= right && top <= bottom && right <= image.width && bottom <= image.height,
        "{}: the box ({}, {}) - ({}, {}) is not inside of an image of {} x {}", where, left, top, right, bottom,
        image.width, image.height);
  return {left - 1.0, top - 1.0, right - left + 1.0, bottom - top + 1.0};
}

PennFudanImage read_annotation(const fs::path& folder, const fs::path& path) {
  const std::string text = read_text(path);
  PennFudanImage image{.file = image_of(folder, path), .boxes = {}};
  int number = 0, promised = -1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    const std::string where = fmt::format("{}, line {}", path.string(), ++number);
    if (line.starts_with("Image size")) {
      const std::vector<int> size = numbers_in(behind_colon(line));
      check(size.size() == 3 && size[0] >= 1 && size[1] >= 1 && size[0] <= kLargestAnnotated &&
                size[1] <= kLargestAnnotated,
            "{}: a size is width x height x channels, not '{}'", where, behind_colon(line));
      image.width = size[0], image.height = size[1];
    } else if (line.starts_with("Objects with ground truth")) {
      const std::vector<int> count = numbers_in(behind_colon(line));
      check(!count.empty(), "{}: it does not say how many objects there are", where);
      promised = count[0];
    } else if (line.starts_with("Bounding box")) {
      check(image.width > 0, "{}: a box before the 'Image size'", where);
      image.boxes.push_back(box_of(line, image, where));
    }
  }
  check(image.width > 0, "{}: it has no 'Image size'", path.string());
  check(promised == static_cast<int>(image.boxes.size()), "{}: it says {} objects, but has {} boxes", path.string(),
        promised, image.boxes.size());
  return image;
}

}  // namespace

std::vector<PennFudanImage> read_penn_fudan(const fs::path& folder) {
  check(is_folder(folder / "Annotation"),
        "{}: a folder of boxes is Penn-Fudan's, with 'Annotation' in it; of COCO, name the file instances_*.json",
        folder.string());
  std::vector<PennFudanImage> images;
  for (const fs::path& file : files_in(folder / "Annotation"))
    if (file.extension() == ".txt") images.push_back(read_annotation(folder, file));
  check(!images.empty(), "{}: it holds no .txt", (folder / "Annotation").string());
  return images;
}

}  // namespace attend::data
