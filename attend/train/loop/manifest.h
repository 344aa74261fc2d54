// What a run wrote into its folder: names, sizes and hashes, as run.json beside the files. Nothing is replaced or
// removed there that is not in it, for model.safetensors and checkpoints/ are everybody's names.
//
// A file is announced before it is renamed into place, so run.json knows every file at every moment: two marks stand
// for a name while it changes, and more when processes were killed there. None goes before a newer one is known to be
// that of the file.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attend/base/file_mark.h"
#include "attend/base/json.h"

namespace attend::train {

class Manifest {
 public:
  static constexpr const char* kName = "run.json";

  Manifest() = default;
  // Of the folder; an empty one where it has none. Throws Error when the file is damaged or names files elsewhere.
  static Manifest read(const std::filesystem::path& folder);
  static bool exists(const std::filesystem::path& folder);
  void write(const std::filesystem::path& folder) const;

  // `name` will be a file with this mark; what it was may still be there.
  void announce(const std::string& name, const FileMark& mark);
  void settle(const std::string& name, const FileMark& mark) { files_[name] = {mark}; }
  // Of several marks the one that the file in the folder has: the others were announced by a process that was killed.
  void settle_as_found(const std::filesystem::path& folder);
  void drop(const std::string& name) { files_.erase(name); }
  bool has(const std::string& name) const { return files_.contains(name); }
  std::vector<std::string> names() const;

  // A file that grows (a log) is the run's whatever it holds by now.
  static bool grows(const std::string& name) {
    return name.ends_with(".jsonl") || name == "curves.csv" || name == "events.out.tfevents";
  }
  // Whether the file of this name in the folder is the one the run wrote. True when there is none.
  bool is_ours(const std::filesystem::path& folder, const std::string& name) const;

  // The texts a run learns from, by setting and path (Json of DataFile marks).
  Json data = Json::object();

 private:
  std::map<std::string, std::vector<FileMark>> files_;
};

}  // namespace attend::train
