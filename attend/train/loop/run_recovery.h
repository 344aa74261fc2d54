// How one run takes the place of another in a folder, so that a process killed at any moment leaves one of them whole.
//
// A new run is prepared in FOLDER/.new-run. When it begins, the files of the old one go to .old-run, one after another,
// its run.json last; then the new ones come to their places, run.json last; and when the new run has saved its first
// state, the old one is removed. So run.json says how far it came:
//   no .old-run/run.json                        the old run was on its way out: it comes back
//   .old-run/run.json, no state in FOLDER       the new run has nothing to lose: it goes, and the old one comes back
//   .old-run/run.json, and a state in FOLDER    the new run stands: what is left of the old one goes
#pragma once

#include <filesystem>

#include "attend/train/loop/manifest.h"

namespace attend::train {

inline constexpr const char* kNewRun = ".new-run";
inline constexpr const char* kOldRun = ".old-run";
inline constexpr const char* kStagingMark = ".attend-staging";  // in .new-run, until its run.json is there
inline constexpr const char* kState = "state.safetensors";

// Whether a process that ended has left something to be settled.
bool has_leftovers(const std::filesystem::path& folder);

// The files of `old` in the folder to .old-run, and those of .new-run, whose run.json is written, to their places.
void swap_runs(const std::filesystem::path& folder, const Manifest& old, const Manifest& fresh);
// The new run has a state: the old one goes.
void discard_old_run(const std::filesystem::path& folder);
// Settles whatever an ended process has left, as said above. The folder must be locked.
void recover_folder(const std::filesystem::path& folder);
// What killed processes had begun to write in the folder and in checkpoints/. Nobody else writes there while it is
// locked.
void sweep_temporaries(const std::filesystem::path& folder);
// Makes .new-run, with a mark in it that says whose it is.
void make_new_run(const std::filesystem::path& folder);
// Whether there is no .new-run that somebody else made: without our mark or run.json, and not empty.
bool new_run_is_ours(const std::filesystem::path& folder);
// Takes away what .new-run holds, where it is ours.
void discard_new_run(const std::filesystem::path& folder);

}  // namespace attend::train
