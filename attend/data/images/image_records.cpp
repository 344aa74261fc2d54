#include "attend/data/images/image_records.h"

#include <algorithm>
#include <string_view>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/limits.h"
#include "attend/base/paths.h"
#include "attend/text/gzip.h"

namespace attend::data {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = std::size_t{1} << 20;  // of a compressed file
constexpr int kCifarSide = 32;
constexpr std::size_t kCifarPixels = std::size_t{3} * kCifarSide * kCifarSide;

// All of a file, inflated where it is compressed.
std::string read_plain(const fs::path& path) {
  std::string file = read_file(path);
  if (!text::is_gzip(file)) return file;
  text::GzipReader reader(path.string(), file);
  std::string bytes;
  while (reader.read(kPiece, bytes))
    check(bytes.size() <= limits::kLargestFileRead, "{}: holds more than {} bytes", path.string(),
          limits::kLargestFileRead);
  return bytes;
}

std::uint8_t byte_at(std::string_view bytes, std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); }

std::int64_t number_at(std::string_view bytes, std::size_t at) {  // big-endian
  std::int64_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | byte_at(bytes, at + i);
  return value;
}

// The sizes of an idx file of bytes with so many axes, which begins with 0, 0, 8 (bytes) and their number.
std::vector<std::int64_t> read_idx_header(std::string_view bytes, std::size_t axes, const std::string& path) {
  check(bytes.size() >= 4 + 4 * axes,
        "{}: ends inside of the header: it has {} bytes, and an idx file of {} axes at least {}", path, bytes.size(),
        axes, 4 + 4 * axes);
  const std::int64_t magic = number_at(bytes, 0), expected = 0x800 + static_cast<std::int64_t>(axes);
  check(magic == expected, "{}: is no idx file of bytes with {} axes: it begins with 0x{:08x}, not 0x{:08x}", path,
        axes, magic, expected);
  std::vector<std::int64_t> sizes;
  for (std::size_t axis = 0; axis < axes; ++axis) sizes.push_back(number_at(bytes, 4 + 4 * axis));
  check(sizes[0] >= 1 && sizes[0] <= limits::kMostImages, "{}: says that it has {} images: from 1 to {} are read", path,
        sizes[0], limits::kMostImages);
  return sizes;
}

// train-images-idx3-ubyte -> train-labels-idx1-ubyte; also with a point in front of idx3, and compressed or not.
fs::path labels_beside(const fs::path& images) {
  std::string name = images.filename().string();
  const std::size_t kind = name.rfind("images"), axes = name.rfind("idx3");
  check(kind != name.npos && axes != name.npos && kind < axes,
        "{}: where are its labels? images in '..images-idx3-ubyte' have them in '..labels-idx1-ubyte'",
        images.string());
  name.replace(axes, 4, "idx1").replace(kind, 6, "labels");
  const std::string other = name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name + ".gz";
  for (const std::string& one : {name, other})
    if (const fs::path path = images.parent_path() / one; path_exists(path)) return path;
  fail("{}: the labels are missing: there is neither '{}' nor '{}' beside it", images.string(), name, other);
}

void check_label(std::int32_t label, const ImageRecords& records, const std::string& path, std::int64_t i) {
  check(label < records.classes, "{}: image {} has the label {}, and the labels are 0 to {}", path, i, label,
        records.classes - 1);
}

}  // namespace

bool is_idx_name(const std::string& name) {
  return name.find("images") != name.npos && (name.ends_with("idx3-ubyte") || name.ends_with("idx3-ubyte.gz"));
}

bool is_cifar_name(const std::string& name) {
  return (name.starts_with("data_batch") && name.ends_with(".bin")) || name == "test_batch.bin" ||
         name == "train.bin" || name == "test.bin";
}

image::Image ImageRecords::image(std::int64_t i) const {
  check(i >= 0 && i < size(), "{}: there is no image {} among {}", path, i, size());
  image::Image image(width, height);
  const auto* from = reinterpret_cast<const std::uint8_t*>(bytes.data()) + first + static_cast<std::size_t>(i) * stride;
  const std::size_t plane = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  const std::size_t step = planes == 1 ? 0 : plane;
  std::uint8_t* to = image.pixels.data();
  for (std::size_t p = 0; p < plane; ++p, to += 3) to[0] = from[p], to[1] = from[p + step], to[2] = from[p + 2 * step];
  return image;
}

ImageRecords read_idx(const fs::path& images, std::int32_t classes) {
  ImageRecords records{
      .path = images.string(), .bytes = read_plain(images), .first = 16, .labels = {}, .classes = classes};
  const std::vector<std::int64_t> sizes = read_idx_header(records.bytes, 3, records.path);
  const std::int64_t count = sizes[0], height = sizes[1], width = sizes[2], side = limits::kLargestModelImage;
  check(width >= 1 && width <= side && height >= 1 && height <= side,
        "{}: says that its images are {} x {}: a side is 1 to {}", records.path, width, height, side);
  records.width = static_cast<int>(width), records.height = static_cast<int>(height);
  records.stride = static_cast<std::size_t>(width * height);
  const std::size_t expected = records.first + static_cast<std::size_t>(count) * records.stride;
  check(records.bytes.size() == expected,
        "{}: says that it has {} images of {} x {}, which are {} bytes, but it has {}", records.path, count, width,
        height, expected, records.bytes.size());
  const fs::path beside = labels_beside(images);
  const std::string labels = read_plain(beside);
  const std::int64_t labelled = read_idx_header(labels, 1, beside.string())[0];
  check(labelled == count, "{}: has {} labels, but '{}' has {} images", beside.string(), labelled, records.path, count);
  check(labels.size() == static_cast<std::size_t>(8 + count),
        "{}: says that it has {} labels, which are {} bytes, but it has {}", beside.string(), count, 8 + count,
        labels.size());
  for (std::int64_t i = 0; i < count; ++i) {
    records.labels.push_back(byte_at(labels, static_cast<std::size_t>(8 + i)));
    check_label(records.labels.back(), records, beside.string(), i);
  }
  return records;
}

ImageRecords read_cifar(const fs::path& path) {
  ImageRecords records{.path = path.string(), .bytes = read_plain(path), .labels = {}};
  const std::string name = path.filename().string();
  const std::size_t size = records.bytes.size();
  const bool ten = name.find("_batch") != name.npos || (size % (kCifarPixels + 1) == 0 && !is_cifar_name(name));
  records.first = ten ? 1 : 2;  // behind the coarse label
  records.stride = kCifarPixels + records.first;
  records.classes = ten ? 10 : 100;
  check(size > 0 && size % records.stride == 0,
        "{}: is no file of CIFAR-{}: {} bytes are no whole number of images of {} bytes", records.path, records.classes,
        size, records.stride);
  records.width = records.height = kCifarSide, records.planes = 3;
  for (std::size_t at = 0; at < size; at += records.stride) {
    records.labels.push_back(byte_at(records.bytes, at + records.first - 1));
    check_label(records.labels.back(), records, records.path, records.size() - 1);
  }
  return records;
}

}  // namespace attend::data
