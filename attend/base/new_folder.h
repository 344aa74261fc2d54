// A folder that is filled aside and then takes its place at one moment, so that whoever looks finds all of the old
// files or all of the new ones.
#pragma once

#include <filesystem>
#include <string_view>

namespace attend {

// Throws Error, opened by what, when there is something at the place already, unless it is a folder without entries.
void check_empty_folder(const std::filesystem::path& place, std::string_view what);

class NewFolder {
 public:
  // Beside `place`, under a name nobody else has.
  explicit NewFolder(const std::filesystem::path& place);
  ~NewFolder();  // it goes, unless it has taken its place
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Files of the same names are replaced; others that were there stay.
  void take_place();

 private:
  std::filesystem::path place_, path_;
};

}  // namespace attend
