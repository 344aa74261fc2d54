#include "attend/tasks/hub_cache.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/joined.h"
#include "attend/base/paths.h"

namespace attend::tasks {

namespace {

namespace fs = std::filesystem;

fs::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? fs::path(value) : fs::path();
}

// The names of what is in a folder; none when it cannot be read.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

// A commit is hexadecimal: a reference cannot lead anywhere else.
bool is_commit(const std::string& text) {
  return !text.empty() && text.size() <= 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::optional<fs::path> snapshot_of(const fs::path& repository) {
  std::string commit;
  if (path_exists(repository / "refs" / "main")) {
    commit = read_file(repository / "refs" / "main");
    while (!commit.empty() && (commit.back() == '\n' || commit.back() == '\r')) commit.pop_back();
  } else if (const auto all = names_in(repository / "snapshots"); all.size() == 1) {
    commit = all[0];
  }
  if (!is_commit(commit) || !path_exists(repository / "snapshots" / commit / "config.json")) return std::nullopt;
  return repository / "snapshots" / commit;
}

}  // namespace

fs::path hub_cache() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (const fs::path cache = from_environment(name); !cache.empty()) return cache;
  if (const fs::path home = from_environment("HF_HOME"); !home.empty()) return home / "hub";
  if (const fs::path cache = from_environment("XDG_CACHE_HOME"); !cache.empty()) return cache / "huggingface" / "hub";
  const fs::path home = from_environment("HOME");
  return home.empty() ? home : home / ".cache" / "huggingface" / "hub";
}

std::optional<fs::path> find_in_hub_cache(const std::string& name) {
  const fs::path cache = hub_cache();
  const std::size_t slash = name.find('/');
  const bool usable =
      !name.empty() && name.front() != '/' && name.back() != '/' && name.find("..") == std::string::npos;
  if (cache.empty() || !usable || (slash != std::string::npos && name.find('/', slash + 1) != std::string::npos))
    return std::nullopt;
  std::string folder = "models--" + name;
  if (slash != std::string::npos) return snapshot_of(cache / folder.replace(8 + slash, 1, "--"));
  if (const auto own = snapshot_of(cache / folder)) return own;
  std::vector<std::string> found;
  for (const std::string& each : names_in(cache))
    if (each.starts_with("models--") && each.ends_with("--" + name) && snapshot_of(cache / each)) found.push_back(each);
  check(found.size() < 2, "model: the hub's cache has several called '{}' ({}): name one as ORG/NAME", name,
        joined(found, ", "));
  return found.empty() ? std::nullopt : snapshot_of(cache / found[0]);
}

}  // namespace attend::tasks
