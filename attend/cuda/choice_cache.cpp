#include "attend/cuda/choice_cache.h"

#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "attend/base/error.h"

namespace attend {
namespace {

std::filesystem::path cache_folder() {
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder && *folder)
    return std::filesystem::path(folder) / "attend";
  if (const char* home = std::getenv("HOME"); home && *home) return std::filesystem::path(home) / ".cache" / "attend";
  return {};
}

}  // namespace

ChoiceCache::ChoiceCache(const std::string& kind, const std::string& device_name, const std::string& version) {
  const std::filesystem::path folder = cache_folder();
  if (folder.empty()) return;
  std::string device;
  for (char letter : device_name) device += std::isalnum(static_cast<unsigned char>(letter)) ? letter : '-';
  path_ = (folder / fmt::format("{}-{}-{}.txt", kind, device, version)).string();
  read(path_, entries_);
}

// A line per entry: the key, then the choice.
void ChoiceCache::read(const std::string& path, Entries& entries) {
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line)) {
    const std::size_t space = line.find(' ');
    if (space == 0 || space == std::string::npos) continue;
    entries[line.substr(0, space)] = line.substr(space + 1);
  }
}

std::optional<std::string> ChoiceCache::find(const std::string& key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

void ChoiceCache::insert(const std::string& key, const std::string& choice) {
  entries_[key] = choice;
  if (path_.empty()) return;
  Entries meanwhile = entries_;
  read(path_, meanwhile);  // what stands in the file wins there, so that runs after this one agree
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  const std::string draft = fmt::format("{}.{}", path_, ::getpid());
  {
    std::ofstream out(draft);
    for (const auto& [name, value] : meanwhile) out << name << ' ' << value << '\n';
    if (!out.flush()) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) std::filesystem::rename(draft, path_, error);
  if (error) std::filesystem::remove(draft, error);
}

}  // namespace attend
