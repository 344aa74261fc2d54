#include "attend/data/images/labelled_images.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/limits.h"
#include "attend/base/lines.h"
#include "attend/base/paths.h"
#include "attend/base/unicode/unicode.h"
#include "attend/data/folder_contents.h"
#include "attend/data/permutation.h"
#include "attend/data/text/table.h"
#include "attend/image/decode.h"

namespace attend::data {

namespace {

namespace fs = std::filesystem;

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// Names of the folders in a folder, in order, without hidden ones.
std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;  // what is gone by now is none
    const std::string name = entry->path().filename().string();
    if (!name.starts_with('.') && entry->is_directory(ignored)) names.push_back(name);
  }
  check(!error, "cannot list the folder '{}': {}", folder.string(), error.message());
  std::ranges::sort(names);
  return names;
}

// Images in a folder and those below it, as paths from `root`, in order.
std::vector<std::string> images_below(const fs::path& root, const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(root / folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (!is_image_name(entry->path()) || !entry->is_regular_file(ignored)) continue;
    files.push_back(entry->path().lexically_relative(root).string());
    check(static_cast<std::int64_t>(files.size()) <= limits::kMostImages, "{}: more than {} images", root.string(),
          limits::kMostImages);
  }
  check(!error, "cannot list the folder '{}': {}", (root / folder).string(), error.message());
  std::ranges::sort(files);
  return files;
}

// Of a folder's files those that are wanted: one of `test` when it is those to test with, else the others.
std::vector<fs::path> wanted_part(const std::vector<fs::path>& files, bool unseen) {
  const auto test = [](const fs::path& path) {
    const std::string name = path.filename().string();
    return name.starts_with("t10k") || name.starts_with("test");
  };
  std::vector<fs::path> wanted;
  std::ranges::copy_if(files, std::back_inserter(wanted), [&](const fs::path& path) { return test(path) == unseen; });
  return wanted.empty() ? files : wanted;  // a folder of its own for one part
}

// Class names, one a line, from the first of the files beside that is there; empty when none is.
std::vector<std::string> names_beside(const fs::path& folder) {
  for (const char* file : {"labels.txt", "batches.meta.txt", "fine_label_names.txt"}) {
    const fs::path path = folder / file;
    if (!path_exists(path)) continue;
    const std::string text = read_text(path);
    std::vector<std::string> names;
    std::set<std::string> seen;
    for (std::string_view rest = without_mark(text); !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view name = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      while (!name.empty() && (name.back() == '\r' || name.back() == ' ')) name.remove_suffix(1);
      if (name.empty()) continue;
      check(!find_invalid_utf8(name), "{}: the name of class {} is not UTF-8", path.string(), names.size());
      check(seen.emplace(name).second, "{}: names the class {} twice", path.string(), shown(name));
      names.emplace_back(name);
      check(names.size() <= limits::kMostLabels, "{}: more than {} classes", path.string(), limits::kMostLabels);
    }
    check(!names.empty(), "{}: names no classes", path.string());
    return names;
  }
  return {};
}

std::vector<std::string> numbers_below(std::int32_t count) {
  std::vector<std::string> names;
  for (std::int32_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

// By number where all are numbers, else by letter.
void sort_classes(std::vector<std::string>& names) {
  const bool numbers = std::ranges::all_of(names, [](const std::string& name) {
    return !name.empty() && name.size() < 19 && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
  });
  std::ranges::sort(names, [&](const std::string& a, const std::string& b) {
    return numbers && std::stoll(a) != std::stoll(b) ? std::stoll(a) < std::stoll(b) : a < b;
  });
}

// The column of a header that has one of these names; empty when none has.
std::string column_named(const Row& header, const std::vector<std::string>& columns,
                         const std::set<std::string>& names) {
  for (const std::string& column : columns)
    if (names.contains(lower(header.cells[column].get<std::string>()))) return column;
  return "";
}

}  // namespace

bool is_image_name(const fs::path& path) {
  const std::string end = lower(path.extension().string());
  return end == ".jpg" || end == ".jpeg" || end == ".png" || end == ".webp";
}

LabelledImages::LabelledImages(const fs::path& path, const LabelledImagesOptions& options) {
  check(path_exists(path), "{}: there is no such file or folder", path.string());
  const std::string name = path.filename().string(), end = lower(path.extension().string());
  if (is_folder(path)) {
    list_folder(path, options);
  } else if (is_idx_name(name) || end == ".bin") {
    read_records({path});
  } else {
    check(end == ".csv" || end == ".tsv",
          "{}: is no list of images: give a folder with a folder for each class, a .csv or .tsv of paths and labels, "
          "or MNIST's or CIFAR's files",
          path.string());
    read_table(path);
  }
  check(size() <= limits::kMostImages, "{}: more than {} images", path.string(), limits::kMostImages);
  check(classes_.size() <= limits::kMostLabels, "{}: more than {} classes", path.string(), limits::kMostLabels);
  if (!options.classes.empty()) adopt(options.classes, path.string());
}

LabelledImages::LabelledImages(fs::path root, std::vector<std::string> files)
    : root_(std::move(root)), files_(std::move(files)) {
  for (std::size_t i = 0; i < files_.size(); ++i) labels_.push_back(static_cast<std::int32_t>(i));
}

void LabelledImages::list_folder(const fs::path& folder, const LabelledImagesOptions& options) {
  std::vector<fs::path> idx, cifar;
  for (const fs::path& path : files_in(folder)) {
    const std::string name = path.filename().string();
    // Of a file that lies there twice the plain one: it is in front, and the other is its name with .gz.
    if (is_idx_name(name) && (idx.empty() || name != idx.back().filename().string() + ".gz")) idx.push_back(path);
    if (is_cifar_name(name)) cifar.push_back(path);
  }
  if (!idx.empty() || !cifar.empty()) {
    check(idx.empty() || cifar.empty(), "{}: holds both MNIST's and CIFAR's files; name one of them", folder.string());
    const std::vector<fs::path> files = wanted_part(idx.empty() ? cifar : idx, options.unseen);
    check(idx.empty() || files.size() == 1, "{}: holds {} files of images, '{}' and '{}' among them; name one",
          folder.string(), files.size(), files.front().filename().string(), files.back().filename().string());
    return read_records(files);
  }
  const bool may_lack = options.empty_classes || !options.classes.empty();
  const std::vector<std::string> names = folders_in(folder);
  const std::set<std::string> parts = {"train", "test", "valid", "val", "validation"};
  const bool split = names.size() > 1 && std::ranges::find(names, "train") != names.end() &&
                     std::ranges::all_of(names, [&](const std::string& name) { return parts.contains(name); });
  if (!split) return list_classes(folder, may_lack);
  for (const char* part : {"valid", "val", "validation", "test"})
    if (options.unseen && std::ranges::find(names, part) != names.end()) return list_classes(folder / part, may_lack);
  list_classes(folder / "train", may_lack);
}

void LabelledImages::list_classes(const fs::path& folder, bool may_lack) {
  root_ = folder;
  for (const std::string& name : folders_in(folder)) {
    check(!find_invalid_utf8(name), "{}: the name of the folder {} is not UTF-8", folder.string(), shown(name));
    std::vector<std::string> files = images_below(folder, name);
    check(may_lack || !files.empty(), "{}: there is no image of this class (.jpg, .jpeg, .png or .webp)",
          (folder / name).string());
    labels_.insert(labels_.end(), files.size(), static_cast<std::int32_t>(classes_.size()));
    std::ranges::move(files, std::back_inserter(files_));
    classes_.push_back(name);
    check(classes_.size() <= limits::kMostLabels, "{}: more than {} classes", folder.string(), limits::kMostLabels);
  }
  check(
      !files_.empty(),
      "{}: there are no images in it as expected: .jpg, .jpeg, .png or .webp in a folder for each class, 'cat/1.jpg'; "
      "found {}",
      folder.string(), folder_contents(folder));
}

void LabelledImages::read_table(const fs::path& path) {
  root_ = path.parent_path();
  const bool csv = lower(path.extension().string()) == ".csv";
  Table table = parse_table(read_text(path), path.string(),
                            {.format = csv ? TableFormat::csv : TableFormat::tsv, .header = false});
  check(table.columns.size() >= 2, "{}: expected a path and a label a line, divided by a {}", path.string(),
        csv ? "comma" : "tab");
  std::string files = "1", labels = "2";
  if (!table.rows.empty()) {
    const std::string file = column_named(table.rows[0], table.columns,
                                          {"path", "file", "filename", "file_name", "image", "picture", "image_path"});
    const std::string label = column_named(table.rows[0], table.columns, {"label", "class", "category", "target"});
    if (!file.empty() && !label.empty()) {
      files = file, labels = label;
      table.rows.erase(table.rows.begin());
    }
  }
  std::vector<std::string> given;  // the class of each
  for (const Row& row : table.rows) {
    std::string file = row.cells[files].get<std::string>(), label = row.cells[labels].get<std::string>();
    if (file.empty() || label.empty() || file.find('\0') != file.npos) {
      table.bad.add(row.line, file.empty()    ? "without a path"
                              : label.empty() ? "without a label"
                                              : "with a path of zeros");
      continue;
    }
    files_.push_back(std::move(file));
    given.push_back(std::move(label));
  }
  left_out_ = table.bad.text();
  check(!files_.empty(), "{}: names no images{}{}", path.string(), left_out_.empty() ? "" : "; ", left_out_);
  classes_ = given;
  std::ranges::sort(classes_);
  classes_.erase(std::unique(classes_.begin(), classes_.end()), classes_.end());
  sort_classes(classes_);
  std::map<std::string_view, std::int32_t> numbers;
  for (const std::string& name : classes_) numbers.emplace(name, static_cast<std::int32_t>(numbers.size()));
  for (const std::string& name : given) labels_.push_back(numbers.at(name));
}

void LabelledImages::read_records(const std::vector<fs::path>& files) {
  const std::vector<std::string> names = names_beside(files.front().parent_path());
  for (const fs::path& file : files) {
    const bool idx = is_idx_name(file.filename().string());
    const std::int32_t idx_classes = names.empty() ? 10 : static_cast<std::int32_t>(names.size());
    records_.push_back(idx ? read_idx(file, idx_classes) : read_cifar(file));
    const ImageRecords& records = records_.back();
    check(records.classes == records_[0].classes, "{}: has {} classes, but '{}' has {}", records.path, records.classes,
          records_[0].path, records_[0].classes);
    labels_.insert(labels_.end(), records.labels.begin(), records.labels.end());
  }
  check(names.empty() || names.size() == static_cast<std::size_t>(records_[0].classes),
        "{}: has {} classes, but the file of names beside it has {}", records_[0].path, records_[0].classes,
        names.size());
  classes_ = names.empty() ? numbers_below(records_[0].classes) : names;
}

// Files that number their classes (MNIST's) mean the names in their order.
void LabelledImages::adopt(const std::vector<std::string>& classes, const std::string& path) {
  bool numbered = classes_.size() <= classes.size() && std::ranges::find(classes, "0") == classes.end();
  for (std::size_t i = 0; i < classes_.size(); ++i) numbered = numbered && classes_[i] == std::to_string(i);
  if (numbered) {
    classes_ = classes;
    return;
  }
  std::map<std::string_view, std::int32_t> known;
  for (const std::string& name : classes) known.emplace(name, static_cast<std::int32_t>(known.size()));
  std::vector<std::int32_t> numbers;
  for (const std::string& name : classes_) numbers.push_back(known.contains(name) ? known.at(name) : -1);
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    const auto own = static_cast<std::size_t>(labels_[i]);
    if (numbers[own] < 0)
      fail("{}: '{}' is of the class {}, which is none of the {} that are learned ({}, ..)", path,
           name(static_cast<std::int64_t>(i)), shown(classes_[own]), classes.size(), shown(classes[0]));
    labels_[i] = numbers[own];
  }
  classes_ = classes;
}

std::pair<const ImageRecords&, std::int64_t> LabelledImages::record_of(std::int64_t i) const {
  std::size_t at = 0;
  for (; at + 1 < records_.size() && i >= records_[at].size(); ++at) i -= records_[at].size();
  return {records_[at], i};
}

std::string LabelledImages::name(std::int64_t i) const {
  if (records_.empty()) return (root_ / files_[static_cast<std::size_t>(i)]).string();
  const auto [records, number] = record_of(i);
  return fmt::format("{}, image {}", records.path, number);
}

image::Image LabelledImages::read(std::int64_t i) const {
  check(i >= 0 && i < size(), "there is no image {} among {}", i, size());
  if (records_.empty()) return image::read_image(root_ / files_[static_cast<std::size_t>(i)]);
  const auto [records, number] = record_of(i);
  return records.image(number);
}

ImageSplit split_images(std::int64_t count, double share, std::uint64_t seed) {
  check(share >= 0 && share < 1, "the share of images that is held out is from 0 to below 1, not {}", share);
  std::int64_t held = static_cast<std::int64_t>(std::llround(static_cast<double>(count) * share));
  if (share > 0) held = std::max<std::int64_t>(held, 1);
  check(held < count, "holding out {} of {} images leaves none to learn from", held, count);
  const Permutation order(static_cast<std::uint64_t>(count), seed);
  ImageSplit split;
  for (std::int64_t place = 0; place < count; ++place)
    (place < held ? split.valid : split.train)
        .push_back(static_cast<std::int64_t>(order(static_cast<std::uint64_t>(place))));
  std::ranges::sort(split.train);
  std::ranges::sort(split.valid);
  return split;
}

}  // namespace attend::data
