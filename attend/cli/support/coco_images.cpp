#include "attend/cli/support/coco_images.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "attend/base/error.h"

namespace attend::cli {

namespace {

namespace fs = std::filesystem;
using NamesByFile = std::multimap<std::string, const data::CocoName*>;

std::string name_in_folder(const fs::path& path) { return path.filename().string(); }

// Whether path ends with all folders and the name of end.
bool path_ends_with(const fs::path& path, const fs::path& end) {
  const auto count = std::distance(end.begin(), end.end());
  if (std::distance(path.begin(), path.end()) < count) return false;
  return std::equal(end.begin(), end.end(), std::prev(path.end(), count));
}

// What the source has to say of a file; null: nothing.
const data::CocoName* known_image(const NamesByFile& names, const std::string& file, const CocoImages::Source& source) {
  const auto [begin, end] = names.equal_range(name_in_folder(file));
  if (begin == end) return nullptr;
  if (std::next(begin) == end) return begin->second;
  const fs::path path = fs::absolute(file).lexically_normal();
  const data::CocoName* found = nullptr;
  int count = 0;
  for (auto at = begin; at != end; ++at)
    if (path_ends_with(path, fs::path(at->second->file).lexically_normal())) found = at->second, ++count;
  check(count == 1, "{}: which one is {}? {} has {} images called '{}', of which its path is that of {}",
        source.command, file, source.file, std::distance(begin, end), name_in_folder(file),
        count == 0 ? "none" : "several");
  return found;
}

}  // namespace

CocoImages::CocoImages(const std::vector<std::string>& files) {
  for (const std::string& file : files) ids_.emplace(file, static_cast<std::int64_t>(ids_.size()) + 1);
}

CocoImages::CocoImages(const std::vector<std::string>& files, const std::vector<data::CocoName>& names,
                       const Source& source) {
  NamesByFile by_file;
  for (const data::CocoName& name : names) by_file.emplace(name_in_folder(name.file), &name);
  std::map<std::int64_t, std::string> taken;
  std::string unknown;
  std::size_t others = 0;
  for (const std::string& file : files) {
    const data::CocoName* name = known_image(by_file, file, source);
    if (!name) {
      if (unknown.empty())
        unknown = name_in_folder(file);
      else
        ++others;
      continue;
    }
    const auto [at, added] = taken.emplace(name->id, file);
    check(added || at->second == file, "{}: {} and {} are both image {} of {}", source.command, at->second, file,
          name->id, source.file);
    ids_[file] = name->id;
  }
  check(unknown.empty(), "{}: {} does not know an image called '{}'{}", source.command, source.file, unknown,
        others == 0 ? "" : fmt::format(", nor {} others of the {}", others, files.size()));
}

}  // namespace attend::cli
