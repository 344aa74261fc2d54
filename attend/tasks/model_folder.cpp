#include "attend/tasks/model_folder.h"

#include <fmt/core.h>

#include <set>
#include <system_error>

#include "attend/base/error.h"

namespace attend::tasks {

namespace {

namespace fs = std::filesystem;

bool present(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

std::vector<fs::path> places_of(const std::string& name) {
  std::vector<fs::path> places = {fs::path("models") / name};
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return places;
  const fs::path folder = program.parent_path();
  places.push_back(folder / "models" / name);
  places.push_back(folder.parent_path() / "models" / name);
  places.push_back(folder.parent_path() / "share" / "attend" / "models" / name);
  return places;
}

std::vector<std::string> shipped_models() {
  std::set<std::string> names;
  for (const fs::path& place : places_of("")) {
    std::error_code error;
    for (fs::directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error))
      if (present(entry->path() / "config.json")) names.insert(entry->path().filename().string());
  }
  return {names.begin(), names.end()};
}

fs::path find_model(const std::string& path_or_name) {
  check(!path_or_name.empty(), "model: its folder has no name");
  const fs::path path = path_or_name;
  if (present(path / "config.json")) return path;
  check(!present(path), "model: {} is not a model's folder: it has no config.json", path_or_name);
  const bool name = path_or_name.find('/') == std::string::npos;
  check(name, "model: there is no folder {}", path_or_name);
  std::string looked;
  for (const fs::path& place : places_of(path_or_name)) {
    if (present(place / "config.json")) return place;
    looked += fmt::format("{}{}", looked.empty() ? "" : ", ", place.string());
  }
  fail("model: there is no folder {}, and no model of that name in {}", path_or_name, looked);
}

}  // namespace attend::tasks
