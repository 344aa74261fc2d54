// What a resumed run may not change in silence: its settings, and the texts it learns from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json_fwd.h"

namespace attend::train {

// A file that a run reads; key is the setting that names it.
struct DataFile {
  std::string key, path;
  bool may_be_folder = false;
};

// Throws Error for a file that is missing, empty, a folder where there may be none, or a pipe, which cannot be read
// twice. about: what the files are, for who does not have them; may be empty.
void check_data(const std::vector<DataFile>& data, std::string_view about);

// Sizes, times and hashes by key, for the manifest.
Json marks_of(const std::vector<DataFile>& data);

// Whether a run may go on with another value of this setting without being asked: how long, how fast, where.
bool may_change(const std::string& key);

// What differs from the run, for a person: "heads is 4, was 2", "text 'a.txt' has changed". Paths may differ where the
// bytes do not.
std::vector<std::string> settings_changed(const Json& before, const Json& now, const std::vector<DataFile>& data);
std::vector<std::string> data_changed(const Json& before, const std::vector<DataFile>& now);

}  // namespace attend::train
