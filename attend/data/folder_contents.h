// What a folder holds, in words, for errors about one that does not hold what was expected.
#pragma once

#include <filesystem>
#include <string>

namespace attend::data {

// "3 folders (cat, dog, ..) and 12 files (8 .txt, 4 .jpg)"; "an empty folder".
std::string folder_contents(const std::filesystem::path& folder);

}  // namespace attend::data
