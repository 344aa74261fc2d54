#include "attend/train/loop/run_recovery.h"

#include <algorithm>
#include <set>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/os.h"

namespace attend::train {

namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

// The files in a folder and in the folders in it, by their names from there; run.json last.
std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (!at->is_directory(error)) names.push_back(fs::relative(at->path(), folder, error).string());
  check(!error, "cannot look through '{}': {}", folder.string(), error.message());
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name != Manifest::kName; });
  return names;
}

// Folders that are empty now; those that hold somebody's files stay.
void remove_empty_folders(const fs::path& folder, const std::vector<std::string>& names) {
  std::set<fs::path> folders;
  for (const std::string& name : names)
    if (const fs::path parent = fs::path(name).parent_path(); !parent.empty()) folders.insert(folder / parent);
  for (const fs::path& one : folders) os::remove_folder(one);
}

void move_files(const fs::path& from, const fs::path& to, const std::vector<std::string>& names) {
  std::set<fs::path> touched = {from, to};
  for (const std::string& name : names) {
    if (!is_there(from / name)) continue;
    make_folders((to / name).parent_path());
    touched.insert((to / name).parent_path());
    move_file(from / name, to / name);
  }
  for (const fs::path& folder : touched) flush_folder(folder);
  remove_empty_folders(from, names);
}

// What the new run had put in place before it had a state.
void remove_files(const fs::path& folder, const Manifest& manifest) {
  for (const std::string& name : manifest.names())
    if (manifest.is_ours(folder, name)) remove_file(folder / name);
  remove_file(folder / Manifest::kName);
  remove_empty_folders(folder, manifest.names());
}

}  // namespace

bool has_leftovers(const fs::path& folder) { return is_there(folder / kNewRun) || is_there(folder / kOldRun); }

void swap_runs(const fs::path& folder, const Manifest& old, const Manifest& fresh) {
  const fs::path aside = folder / kOldRun, prepared = folder / kNewRun;
  std::vector<std::string> leaving = old.names(), coming = fresh.names();
  if (Manifest::exists(folder)) {
    leaving.emplace_back(Manifest::kName);
    make_folders(aside);
    move_files(folder, aside, leaving);
  }
  coming.emplace_back(Manifest::kName);
  move_files(prepared, folder, coming);
  os::remove_folder(prepared);
}

void discard_old_run(const fs::path& folder) {
  const fs::path aside = folder / kOldRun;
  if (!is_there(aside)) return;
  const std::vector<std::string> names = files_in(aside);
  for (const std::string& name : names) remove_file(aside / name);
  remove_empty_folders(aside, names);
  os::remove_folder(aside);
}

void sweep_temporaries(const fs::path& folder) {
  for (const fs::path& place : {folder, folder / "checkpoints"}) {
    std::vector<fs::path> found;
    std::error_code error;
    for (fs::directory_iterator at(place, error), end; !error && at != end; at.increment(error))
      if (is_temporary_name(at->path().filename().string())) found.push_back(at->path());
    for (const fs::path& path : found) remove_file(path);
  }
}

void recover_folder(const fs::path& folder) {
  if (!has_leftovers(folder)) return;
  sweep_temporaries(folder);
  const fs::path aside = folder / kOldRun, prepared = folder / kNewRun;
  if (is_there(aside)) {
    const bool all_aside = Manifest::exists(aside);
    if (all_aside && Manifest::exists(folder) && is_there(folder / kState)) {
      discard_old_run(folder);
    } else {
      if (all_aside) remove_files(folder, Manifest::read(Manifest::exists(prepared) ? prepared : folder));
      move_files(aside, folder, files_in(aside));
      os::remove_folder(aside);
    }
  } else if (Manifest::exists(prepared) && !Manifest::exists(folder)) {
    remove_files(folder, Manifest::read(prepared));
  }
  discard_new_run(folder);
}

void make_new_run(const fs::path& folder) {
  make_folders(folder / kNewRun);
  write_file(folder / kNewRun / kStagingMark, "");
}

bool new_run_is_ours(const fs::path& folder) {
  const fs::path prepared = folder / kNewRun;
  if (!is_there(prepared) || is_there(prepared / kStagingMark) || Manifest::exists(prepared)) return true;
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(prepared, error))) return false;
  for (fs::directory_iterator at(prepared, error), end; !error && at != end; at.increment(error))
    if (!is_temporary_name(at->path().filename().string())) return false;
  return !error;
}

void discard_new_run(const fs::path& folder) {
  std::error_code error;
  if (is_there(folder / kNewRun) && new_run_is_ours(folder)) fs::remove_all(folder / kNewRun, error);
}

}  // namespace attend::train
