#include "attend/train/loop/run_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/base/old_names.h"
#include "attend/base/os.h"
#include "attend/train/loop/run_recovery.h"

namespace attend::train {

namespace {

namespace fs = std::filesystem;

// Names that are there without being anybody's work.
bool is_nobodys(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == RunLock::kName || is_temporary_name(name) || name == kNewRun || name == kOldRun;
}

// Before anything is touched: a folder is free, or a run's, or not for us.
void check_free(const RunRequest& request) {
  const fs::path& out = request.out;
  std::error_code error;
  const bool there = fs::exists(out, error);
  check(!there || fs::is_directory(out, error), "'{}' is a file; a run needs a folder", out.string());
  check(!there || new_run_is_ours(out),
        "'{}' holds '{}', which no training run wrote: choose another --out, or move it away", out.string(), kNewRun);
  check(!request.resume || (there && (Manifest::exists(out) || has_leftovers(out))), "'{}' holds no run to resume",
        out.string());
  if (!there || Manifest::exists(out) || has_leftovers(out)) return;
  for (fs::directory_iterator at(out, error), end; !error && at != end; at.increment(error))
    check(is_nobodys(at->path()),
          "'{}' holds '{}', which no training run wrote: choose another --out, or an empty folder", out.string(),
          at->path().filename().string());
  check(!error, "cannot look into '{}': {}", out.string(), error.message());
}

bool has_state(const fs::path& folder) {
  std::error_code error;
  return Manifest::exists(folder) && fs::exists(folder / kState, error);
}

}  // namespace

bool has_run(const fs::path& folder) {
  if (has_leftovers(folder)) {
    const RunLock lock(folder);
    recover_folder(folder);
  }
  return has_state(folder);
}

RunFolder::MadeFolders::~MadeFolders() {
  for (auto path = paths.rbegin(); path != paths.rend(); ++path) os::remove_folder(*path);
}

RunFolder::RunFolder(const RunRequest& request)
    : path_(request.out), resumed_(request.resume), follows_(request.follows) {
  check(!path_.empty(), "training: 'out' is missing");
  if (follows_) {
    check(fs::exists(staging()), "'{}' is not there: all processes of a run need to see the same folder",
          staging().string());
    return;
  }
  check_data(request.data, request.about_data);
  check_free(request);
  made_.paths = make_folders(path_);
  lock_.emplace(path_);
  recover_folder(path_);
  check_run(request);
  data_ = resumed_ && !request.allow_changes ? manifest_.data : marks_of(request.data);
  sweep_temporaries(path_);
  make_new_run(path_);
}

void RunFolder::check_run(const RunRequest& request) {
  const bool there = has_state(path_);
  check(!resumed_ || there, "'{}' holds no run to resume", path_.string());
  check(resumed_ || request.overwrite || !there,
        "'{}' already holds a run: --resume continues it, --overwrite replaces it", path_.string());
  manifest_ = Manifest::read(path_);
  check_ours();
  manifest_.settle_as_found(path_);
  if (!resumed_ || request.allow_changes) return;
  const Json recipe = with_current_names(read_json(path_ / "recipe.json"), (path_ / "recipe.json").string());
  std::vector<std::string> changes = settings_changed(recipe, request.settings, request.data);
  for (std::string& change : data_changed(manifest_.data, request.data)) changes.push_back(std::move(change));
  check(changes.empty(),
        "'{}' is another run's: {}. --allow-changes continues anyway; docs/reliability.md lists what may change "
        "without it",
        path_.string(), joined(changes, "; "));
}

void RunFolder::check_ours() const {
  for (const std::string& name : manifest_.names())
    check(manifest_.is_ours(path_, name),
          "'{}' was changed since the run wrote it, and would be lost: move it away, or choose another --out",
          (path_ / name).string());
}

RunFolder::~RunFolder() {
  if (follows_) return;
  try {
    if (!begun_ || replaces_) recover_folder(path_);
  } catch (const Error&) {  // whoever comes next tries again
  }
  if (begun_) made_.paths.clear();
  lock_.reset();
}

fs::path RunFolder::staging() const { return path_ / kNewRun; }

fs::path RunFolder::prepared() const { return resumed_ ? path_ : staging(); }

RunFolder::Derived RunFolder::derived(const std::string& name) const {
  const fs::path made = staging() / name;
  return {.found = follows_ && fs::exists(made) ? made : prepared() / name, .made = made};
}

void RunFolder::stage(const std::string& name, std::string_view content) {
  if (!follows_) write_file(staging() / name, content);
}

void RunFolder::begin() {
  if (follows_) return;
  Manifest fresh = resumed_ ? manifest_ : Manifest();
  fresh.data = data_;
  std::vector<std::string> staged;
  for (const fs::directory_entry& entry : fs::directory_iterator(staging()))
    if (entry.path().filename() != kStagingMark) staged.push_back(entry.path().filename().string());
  for (const std::string& name : staged) {
    check(manifest_.is_ours(path_, name), "'{}' is not this run's, and would be lost: move it away",
          (path_ / name).string());
    fresh.announce(name, whole_mark_of(staging() / name));
  }
  if (resumed_) {
    fresh.write(path_);
    for (const std::string& name : staged) move_file(staging() / name, path_ / name);
    flush_folder(path_);
    discard_new_run(path_);
  } else {
    fresh.write(staging());
    remove_file(staging() / kStagingMark);
    replaces_ = Manifest::exists(path_);
    swap_runs(path_, manifest_, fresh);
  }
  for (const std::string& name : staged) fresh.settle(name, whole_mark_of(path_ / name));
  manifest_ = std::move(fresh);
  begun_ = true;
}

void RunFolder::write(const std::string& name, const FileProducer& produce) {
  if (follows_) return;
  const fs::path path = path_ / name;
  std::error_code error;
  check(manifest_.has(name) || !fs::exists(fs::symlink_status(path, error)),
        "'{}' is not this run's, and would be lost: move it away", path.string());
  FileReplacement file(path);
  produce([&](std::string_view data) { file.write(data); });
  const FileMark mark = file.finish();
  manifest_.announce(name, mark);
  manifest_.write(path_);
  file.commit();
  manifest_.settle(name, mark);
}

void RunFolder::remove(const std::string& name) {
  if (follows_) return;
  check(manifest_.has(name), "'{}' is not this run's", (path_ / name).string());
  remove_file(path_ / name);
  manifest_.drop(name);
}

AppendedFile RunFolder::append(const std::string& name, std::string_view kept) {
  check(!follows_, "'{}' is another process's to write", name);
  write(name, [&](const FileWriter& write) { write(kept); });
  return AppendedFile(path_ / name);
}

void RunFolder::state_saved() {
  if (!std::exchange(replaces_, false)) return;
  discard_old_run(path_);
}

}  // namespace attend::train
