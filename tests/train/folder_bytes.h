// Everything in a folder, to be compared with what is there later.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "attend/base/files.h"

namespace attend::test {

inline std::map<std::string, std::string> bytes_in(const std::filesystem::path& folder) {
  std::map<std::string, std::string> bytes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      bytes[std::filesystem::relative(entry.path(), folder).string()] = read_file(entry.path());
  return bytes;
}

inline std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& [name, content] : bytes_in(folder)) names.push_back(name);
  return names;
}

}  // namespace attend::test
