#include "attend/base/paths.h"

#include <algorithm>
#include <system_error>

#include "attend/base/error.h"

namespace attend {

namespace {

namespace fs = std::filesystem;

void check_done(const std::error_code& error, const char* what, const fs::path& path) {
  check(!error, "cannot {} '{}': {}", what, path.string(), error.message());
}

// exists() and is_directory() of nothing are no error.
fs::file_status status_of(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none) check_done(error, "look at", path);
  return status;
}

}  // namespace

bool path_exists(const fs::path& path) { return fs::exists(status_of(path)); }

bool is_folder(const fs::path& path) { return fs::is_directory(status_of(path)); }

void make_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  check_done(error, "make the folder", path);
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;  // what is gone by now is none
    if (entry->is_regular_file(ignored)) files.push_back(entry->path());
  }
  check_done(error, "list the folder", folder);
  std::ranges::sort(files);
  return files;
}

}  // namespace attend
