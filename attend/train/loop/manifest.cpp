#include "attend/train/loop/manifest.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/files.h"

namespace attend::train {

namespace {

namespace fs = std::filesystem;

constexpr const char* kKind = "attend training run";

Json to_json(const FileMark& mark) {
  return {{"size", mark.size}, {"time", mark.time}, {"hash", fmt::format("{:016x}", mark.hash)}};
}

FileMark mark_from(const Json& json) {
  return {.size = json.at("size").get<std::uint64_t>(),
          .time = json.at("time").get<std::int64_t>(),
          .hash = std::stoull(json.at("hash").get<std::string>(), nullptr, 16)};
}

// A name in the folder itself or one folder down: a manifest from elsewhere must not lead out of its folder.
bool stays_inside(const std::string& name) {
  const fs::path path(name);
  const auto parts = std::distance(path.begin(), path.end());
  return path.is_relative() && parts >= 1 && parts <= 2 &&
         std::ranges::none_of(path, [](const fs::path& part) { return part == ".." || part == "." || part.empty(); });
}

}  // namespace

bool Manifest::exists(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / kName, error);
}

Manifest Manifest::read(const fs::path& folder) {
  Manifest manifest;
  if (!exists(folder)) return manifest;
  const std::string path = (folder / kName).string();
  try {
    const Json json = read_json(path);
    check(json.at("kind").get<std::string>() == kKind, "another kind");
    manifest.data = json.at("data");
    for (const auto& [name, marks] : json.at("files").items()) {
      check(stays_inside(name), "names a file elsewhere");
      for (const Json& mark : marks) manifest.files_[name].push_back(mark_from(mark));
    }
  } catch (const std::exception& error) {
    fail("{}: is damaged, or not the list of files of a training run ({}); choose another --out", path, error.what());
  }
  return manifest;
}

void Manifest::write(const fs::path& folder) const {
  Json files = Json::object();
  for (const auto& [name, marks] : files_) {
    Json list = Json::array();
    for (const FileMark& mark : marks) list.push_back(to_json(mark));
    files[name] = std::move(list);
  }
  write_file(folder / kName, Json{{"kind", kKind}, {"files", files}, {"data", data}}.dump(1) + "\n");
}

void Manifest::announce(const std::string& name, const FileMark& mark) { files_[name].push_back(mark); }

void Manifest::settle_as_found(const fs::path& folder) {
  for (auto& [name, marks] : files_) {
    if (marks.size() < 2) continue;
    const auto found = std::ranges::find_if(marks, [&, path = folder / name](const FileMark& mark) {
      std::error_code error;
      return fs::exists(path, error) && is_same_file(mark, path);
    });
    if (found != marks.end()) marks = {*found};
  }
}

std::vector<std::string> Manifest::names() const {
  std::vector<std::string> names;
  for (const auto& [name, marks] : files_) names.push_back(name);
  return names;
}

bool Manifest::is_ours(const fs::path& folder, const std::string& name) const {
  std::error_code error;
  const fs::path path = folder / name;
  if (!fs::exists(fs::symlink_status(path, error))) return true;
  const auto found = files_.find(name);
  if (found == files_.end() || !fs::is_regular_file(fs::symlink_status(path, error))) return false;
  return grows(name) ||
         std::ranges::any_of(found->second, [&](const FileMark& mark) { return is_same_file(mark, path); });
}

}  // namespace attend::train
