// The folder of a training run: who may use it, what in it is the run's, and how it changes without losing anything.
//
//   RunFolder folder({.out = "model", .settings = .., .data = ..});   // checks, locks; what was there is as it was
//   folder.stage("config.json", ..);                                  // prepared aside, in folder.prepared()
//   folder.begin();                                                   // now it is this run's
//   folder.write("model.safetensors", ..);                            // replaced at one moment, listed in run.json
//   folder.state_saved();                                             // a run that was overwritten goes only now
//
// docs/reliability.md says what is promised; manifest.h, run_lock.h, run_changes.h and run_recovery.h are its parts.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/files.h"
#include "attend/train/loop/manifest.h"
#include "attend/train/loop/run_changes.h"
#include "attend/train/loop/run_lock.h"

namespace attend::train {

struct RunRequest {
  std::filesystem::path out;
  bool resume = false;         // go on with the run that is there
  bool overwrite = false;      // begin anew although there is one
  bool allow_changes = false;  // go on although settings or texts are others
  bool follows = false;        // another process has the folder and made it ready: this one reads, and writes nothing
  Json settings = {};
  std::vector<DataFile> data = {};
  std::string about_data = {};  // what it is and where it comes from, for the error when there is none
};

class RunFolder {
 public:
  // Throws Error, with everything as it was, when a text cannot be read, when the folder holds something that no run
  // of this program wrote, when another process trains there, and when the run there does not fit the request.
  explicit RunFolder(const RunRequest& request);
  // What was only prepared goes; a run that was to be overwritten by one without a state comes back.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  bool resumed() const { return resumed_; }
  const std::filesystem::path& path() const { return path_; }
  // Where the files of the model are to be found and put before begin(): aside, or for a resumed run in their place.
  std::filesystem::path prepared() const;
  // A file that is made from others, and where to make it anew when it does not fit them any more.
  struct Derived {
    std::filesystem::path found, made;
  };
  Derived derived(const std::string& name) const;
  void stage(const std::string& name, std::string_view content);

  // From here on the folder is this run's.
  void begin();
  void write(const std::string& name, const FileProducer& produce);
  void remove(const std::string& name);
  // A log, beginning with these lines.
  AppendedFile append(const std::string& name, std::string_view kept);
  void state_saved();

 private:
  // Folders that were made for the run, and go when it does not begin.
  struct MadeFolders {
    std::vector<std::filesystem::path> paths;
    ~MadeFolders();
  };

  void check_run(const RunRequest& request);
  void check_ours() const;
  std::filesystem::path staging() const;

  std::filesystem::path path_;
  bool resumed_ = false, follows_ = false, begun_ = false, replaces_ = false;
  MadeFolders made_;
  std::optional<RunLock> lock_;
  Manifest manifest_;  // of the run that is there, and from begin() on of this one
  Json data_;
};

// Whether a run that can be resumed lives in this folder. Settles first what a killed process has left there.
bool has_run(const std::filesystem::path& folder);

}  // namespace attend::train
