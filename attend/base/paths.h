// What is at a path. std::filesystem's own questions throw errors of their own when they get no answer (a folder that
// may not be looked into, a name that is too long); these throw an Error in plain words.
#pragma once

#include <filesystem>
#include <vector>

namespace attend {

bool path_exists(const std::filesystem::path& path);  // a file, a folder or anything else
bool is_folder(const std::filesystem::path& path);
void make_folders(const std::filesystem::path& path);  // it and those above it; fine where they are
// The plain files in a folder, in the order of their names.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder);

}  // namespace attend
