// A run's folder when processes end while they save: what run.json knows of a file that was to be replaced.
#include "attend/train/loop/run_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "attend/base/error.h"
#include "attend/base/os.h"
#include "attend/train/loop/run_recovery.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

class RunFolders : public testing::Test {
 protected:
  RunFolders() : path_(fs::temp_directory_path() / ("attend_run_folder_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
  }
  ~RunFolders() override { fs::remove_all(path_); }

  static void save(train::RunFolder& folder, const std::string& state) {
    folder.write("state.safetensors", [&](const FileWriter& write) { write(state); });
    folder.state_saved();
  }

  // A process that goes on, or begins, and is killed when this state is to come to its place: run.json has its mark.
  void die_while_saving(const std::string& state) const {
    train::RunFolder folder(
        {.out = path_, .resume = fs::exists(path_ / "state.safetensors"), .settings = Json::object()});
    if (!folder.resumed()) folder.stage("recipe.json", "{}");
    folder.begin();
    bool dead = false;
    const os::FaultInjection faults([&](os::Call call, const fs::path& path) {
      dead = dead || (call == os::Call::rename && path.filename().string().starts_with("state.safetensors"));
      return dead ? EIO : 0;
    });
    EXPECT_THROW(save(folder, state), Error);
  }

  fs::path path_;
};

TEST_F(RunFolders, HoweverOftenAProcessIsKilledTheStateStaysTheRuns) {
  {
    train::RunFolder folder({.out = path_});
    folder.stage("recipe.json", "{}");
    folder.begin();
    save(folder, "one");
  }
  for (const char* state : {"two", "three", "four"}) {
    die_while_saving(state);
    EXPECT_EQ(read_file(path_ / "state.safetensors"), "one");
  }
  train::RunFolder folder({.out = path_, .resume = true, .settings = Json::object()});
  folder.begin();
  save(folder, "five");
  EXPECT_EQ(read_file(path_ / "state.safetensors"), "five");
}

// The same where the process lives on and the disk fails: every save that failed has left a mark.
TEST_F(RunFolders, SavesThatFailLeaveTheStateTheRuns) {
  train::RunFolder folder({.out = path_});
  folder.stage("recipe.json", "{}");
  folder.begin();
  save(folder, "one");
  {
    const os::FaultInjection faults([](os::Call call, const fs::path& path) {
      return call == os::Call::rename && path.filename().string().starts_with("state.safetensors") ? ENOSPC : 0;
    });
    for (const char* state : {"two", "three", "four"}) EXPECT_THROW(save(folder, state), Error);
  }
  EXPECT_TRUE(train::Manifest::read(path_).is_ours(path_, "state.safetensors"));
}

// A folder of the name that runs are prepared in may be somebody else's.
TEST_F(RunFolders, WhatIsPreparedAsideIsOurs) {
  const auto refused = [&] {
    try {
      train::RunFolder folder({.out = path_});
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  write_file(path_ / ".new-run" / "mine.txt", "work");
  EXPECT_NE(refused().find("holds '.new-run', which no training run wrote"), std::string::npos) << refused();
  EXPECT_FALSE(train::has_run(path_));
  EXPECT_EQ(read_file(path_ / ".new-run" / "mine.txt"), "work");
  fs::remove_all(path_);
  // A process that was killed while it prepared its run: whatever it had written goes.
  for (const char* name : {"", "a.0123456789abcdef.tmp", train::kStagingMark, "run.json"}) {
    fs::create_directories(path_ / train::kNewRun);
    if (*name) write_file(path_ / train::kNewRun / name, "{}");
    if (name == std::string(train::kStagingMark)) write_file(path_ / train::kNewRun / "config.json", "{}");
    if (name == std::string("run.json")) train::Manifest().write(path_ / train::kNewRun);
    EXPECT_EQ(refused(), "") << name;
    EXPECT_FALSE(fs::exists(path_ / train::kNewRun)) << name;
  }
}

}  // namespace
}  // namespace attend::test
