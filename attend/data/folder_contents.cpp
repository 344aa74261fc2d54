#include "attend/data/folder_contents.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <system_error>
#include <vector>

#include "attend/base/joined.h"

namespace attend::data {

std::string folder_contents(const std::filesystem::path& folder) {
  std::vector<std::string> folders;
  std::map<std::string, std::size_t> files;
  std::size_t count = 0;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    const std::filesystem::path& path = entry->path();
    if (entry->is_directory(ignored))
      folders.push_back(path.filename().string());
    else
      ++count, ++files[path.extension().empty() ? "without a suffix" : path.extension().string()];
  }
  std::ranges::sort(folders);
  const std::size_t all = folders.size();
  if (all > 3) folders.resize(3), folders.emplace_back("..");
  std::string text;
  if (all > 0) text = fmt::format("{} folder{} ({})", all, all == 1 ? "" : "s", joined(folders, ", "));
  std::vector<std::string> kinds;
  for (const auto& [end, number] : files) kinds.push_back(fmt::format("{} {}", number, end));
  if (count > 0)
    text +=
        fmt::format("{}{} file{} ({})", text.empty() ? "" : " and ", count, count == 1 ? "" : "s", joined(kinds, ", "));
  return text.empty() ? "an empty folder" : text;
}

}  // namespace attend::data
