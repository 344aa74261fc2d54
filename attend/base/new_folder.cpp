#include "attend/base/new_folder.h"

#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/os.h"

namespace attend {

namespace {

namespace fs = std::filesystem;

// Where links lead, so that it is the folder that is replaced and not a link to it.
fs::path resolved(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(path, error);
  return error ? path : real;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    entries.push_back(at->path());
  check(!error, "cannot look into '{}': {}", folder.string(), error.message());
  return entries;
}

}  // namespace

void check_empty_folder(const fs::path& place, std::string_view what) {
  std::error_code error;
  if (!fs::exists(place, error)) return;
  check(fs::is_directory(place, error), "{}: '{}' is not a folder", what, place.string());
  const std::vector<fs::path> entries = entries_of(place);
  check(entries.empty(), "{}: '{}' holds '{}' already; give a new or an empty folder", what, place.string(),
        entries.empty() ? "" : entries.front().filename().string());
}

NewFolder::NewFolder(const fs::path& place) : place_(resolved(place)) {
  std::error_code error;
  check(!fs::exists(place_, error) || fs::is_directory(place_, error), "cannot write '{}': it is not a folder",
        place.string());
  const fs::path name = temporary_name(place_);
  make_folders(name);
  path_ = name;
}

NewFolder::~NewFolder() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

void NewFolder::take_place() {
  const auto fail_to = [&] {
    fail("cannot replace '{}': {}", place_.string(), std::generic_category().message(errno));
  };
  flush_folder(path_);
  std::error_code error;
  if (!fs::exists(place_, error)) {
    if (os::rename(path_, place_) != 0) fail_to();
    path_.clear();
    return flush_folder(place_.parent_path());
  }
  // The new one is in its place from here on, and the old one at our name: what it has and the new one has not comes
  // back.
  if (os::exchange(path_, place_) != 0) fail_to();
  const fs::path old = std::exchange(path_, {});
  for (const fs::path& entry : entries_of(old))
    if (!fs::exists(fs::symlink_status(place_ / entry.filename(), error))) move_file(entry, place_ / entry.filename());
  flush_folder(place_);
  fs::remove_all(old, error);
  flush_folder(place_.parent_path());
}

}  // namespace attend
