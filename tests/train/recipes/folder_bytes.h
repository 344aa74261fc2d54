// A folder to hurt, and everything in one, to be compared with what is there later.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attend/base/files.h"

namespace attend::test {

// An empty folder for tests that save thousands of times: in memory where there is such a place, for a disk takes
// milliseconds for every flush.
inline std::filesystem::path scratch_folder(const std::string& name) {
  const std::filesystem::path memory = "/dev/shm";
  std::error_code error;
  const std::filesystem::path place =
      ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
  const std::filesystem::path folder = place / (name + "_" + std::to_string(::getpid()));
  std::filesystem::remove_all(folder, error);
  return folder;
}

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
