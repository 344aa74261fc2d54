#include "attend/train/loop/run_changes.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string_view>
#include <system_error>

#include "attend/base/error.h"
#include "attend/base/file_mark.h"
#include "attend/base/json.h"

namespace attend::train {

namespace {

// docs/reliability.md lists them, too.
constexpr std::string_view kMayChange[] = {
    "steps",     "minutes",    "epochs",      "schedule",         "learning_rate", "warmup",         "clip_norm",
    "log_every", "save_every", "patience",    "device",           "threads",       "validate_every", "recompute",
    "out",       "test",       "layer_decay", "parameter_groups", "workers",       "cache_bytes",    "data",
    "freeze",    "then",       "compare",     "test_source",      "test_target",   "command"};

Json to_json(const DataFile& file) {
  const FileMark mark = whole_mark_of(file.path);
  return {{"path", file.path}, {"size", mark.size}, {"time", mark.time}, {"hash", fmt::format("{:016x}", mark.hash)}};
}

bool is_same(const Json& before, const DataFile& now) {
  const FileMark mark = {.size = before.at("size").get<std::uint64_t>(),
                         .time = before.at("time").get<std::int64_t>(),
                         .hash = std::stoull(before.at("hash").get<std::string>(), nullptr, 16)};
  return is_same_file(mark, now.path);
}

}  // namespace

void check_data(const std::vector<DataFile>& data, std::string_view about) {
  for (const DataFile& file : data) {
    struct stat status {};
    const bool there = ::stat(file.path.c_str(), &status) == 0 && ::access(file.path.c_str(), R_OK) == 0;
    check(there, "training: cannot open '{}' ({}): {}{}{}", file.path, file.key, std::generic_category().message(errno),
          about.empty() ? "" : ". It learns from ", about);
    if (file.may_be_folder && S_ISDIR(status.st_mode)) continue;
    check(!S_ISDIR(status.st_mode), "training: '{}' ({}) is a folder, not a file", file.path, file.key);
    check(S_ISREG(status.st_mode),
          "training: '{}' ({}) is a pipe or a device; a text is read more than once, so save it as a file first",
          file.path, file.key);
    check(status.st_size > 0, "training: '{}' ({}) is empty", file.path, file.key);
  }
}

Json marks_of(const std::vector<DataFile>& data) {
  Json marks = Json::object();
  for (const DataFile& file : data) {
    if (!marks.contains(file.key)) marks[file.key] = Json::array();
    marks[file.key].push_back(to_json(file));
  }
  return marks;
}

bool may_change(const std::string& key) { return std::ranges::find(kMayChange, key) != std::end(kMayChange); }

std::vector<std::string> settings_changed(const Json& before, const Json& now, const std::vector<DataFile>& data) {
  std::vector<std::string> changes;
  const auto is_data = [&](const std::string& key) {
    return std::ranges::any_of(data, [&](const DataFile& file) { return file.key == key; });
  };
  for (const auto& [key, value] : now.items()) {
    if (may_change(key) || is_data(key)) continue;
    const auto old = before.find(key);
    // A setting newer than the run, not used.
    const std::string text = value.dump();
    const bool nothing = text == "\"\"" || text == "[]" || text == "0" || text == "0.0" || text == "false";
    if (old == before.end() && nothing) continue;
    if (old == before.end())
      changes.push_back(fmt::format("{} is {}, and was not there", key, value.dump()));
    else if (old->dump() != value.dump())
      changes.push_back(fmt::format("{} is {}, was {}", key, value.dump(), old->dump()));
  }
  return changes;
}

std::vector<std::string> data_changed(const Json& before, const std::vector<DataFile>& now) {
  std::vector<std::string> changes;
  std::map<std::string, std::size_t> taken;
  for (const DataFile& file : now) {
    if (may_change(file.key)) continue;
    const std::size_t index = taken[file.key]++;
    const auto marks = before.find(file.key);
    if (marks == before.end() || index >= marks->size())
      changes.push_back(fmt::format("{} '{}' is new", file.key, file.path));
    else if (!is_same((*marks)[index], file))
      changes.push_back(fmt::format("{} '{}' is not what the run has learned from", file.key, file.path));
  }
  for (const auto& [key, marks] : before.items())
    if (!may_change(key) && taken[key] < marks.size())
      changes.push_back(fmt::format("{} was {} files, is {}", key, marks.size(), taken[key]));
  return changes;
}

}  // namespace attend::train
