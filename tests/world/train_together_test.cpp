// Training by several processes: the same bits every time, those of one process but for the rounding of sums, going on
// after a stop with any number of them, and what happens when one dies or hangs.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <iostream>
#include <thread>

#include "tests/train/recipes/folder_bytes.h"
#include "tests/world/mpirun.h"
#include "tests/world/states.h"
#include "tests/world/toy_runs.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Words = std::vector<std::string>;

class Together : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_mpirun(); !why.empty()) GTEST_SKIP() << "several processes: " << why;
    folder_ = scratch_folder("attend_together");
    toys_ = ToyRuns(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  Words toy_run(const std::string& task, const std::string& out) {
    if ((task == "classify" || task == "tag") && !fs::exists(folder_ / "start")) {
      EXPECT_EQ(run(0, with(toys_.words("masked-lm", "start"), {"--steps", "2"})), 0);
    }
    Words words = toys_.words(task, out);
    return task == "classify-images" ? with(words, {"--flip", "--ema", "0.9"}) : words;
  }
  static Words with(const Words& words, const Words& more) { return ToyRuns::with(words, more); }
  Words short_run(const std::string& task, const std::string& out, const Words& more = {}) {
    Words words = with(toy_run(task, out), {"--steps", "8", "--save-every", "3", "--validate-every", "4", "--log-every",
                                            "2", "--average", "1"});
    if (task != "draw") words = with(words, {"--dropout", "0.1"});
    return with(words, more);
  }
  int run(int ranks, const Words& words, const RankFault& fault = {}) { return run_all({{ranks, words, fault}}).at(0); }
  // Runs that have nothing to do with each other, at the same time: most of theirs is starting and waiting. Their exit
  // codes; said_ is what the last one said.
  struct Planned {
    int ranks = 0;
    Words words;
    RankFault fault = {};
  };
  std::vector<int> run_all(const std::vector<Planned>& plans) {
    std::vector<Started> started;
    for (const Planned& plan : plans) started.push_back(start_ranks(plan.ranks, plan.words, folder_, plan.fault));
    std::vector<int> codes;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      codes.push_back(wait_for(started[i]));
      said_ = read_file(started[i].err);
      if (codes.back() != 0 && plans[i].fault.rank < 0) std::cerr << said_;
    }
    return codes;
  }
  // That a process which counts them has said.
  std::int64_t calls_on_files() const {
    const std::size_t end = said_.find(" calls on files");
    return end == std::string::npos ? 0 : std::stoll(said_.substr(said_.rfind(' ', end - 1) + 1));
  }

  double difference(const std::string& a, const std::string& b) const {
    return difference_of_states(folder_ / a, folder_ / b);
  }

  // Of a log: its run is among the steps, where nobody is patient.
  void wait_for_lines(const fs::path& file) const {
    for (int i = 0; i < 3000 && !(fs::exists(file) && fs::file_size(file) > 0); ++i) std::this_thread::sleep_for(10ms);
    ASSERT_TRUE(fs::exists(file) && fs::file_size(file) > 0) << file;
  }
  void wait_for_file(const fs::path& file) const {
    for (int i = 0; i < 3000 && !fs::exists(file); ++i) std::this_thread::sleep_for(10ms);
    ASSERT_TRUE(fs::exists(file)) << file;
  }

  fs::path folder_;
  ToyRuns toys_;
  std::string said_;
};

class EveryTask : public Together, public testing::WithParamInterface<const char*> {};

// Twice, and once with rank 0 killed behind the first state: gone on with, by as many and by others.
TEST_P(EveryTask, RepeatsToTheBitAndGoesOnWithAnyNumber) {
  const std::string task = GetParam();
  ASSERT_EQ(run_all({{3, short_run(task, "three")},
                     {3, short_run(task, "three again")},
                     {2, short_run(task, "a"), {0, "count"}}}),
            (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(difference("three", "three again"), 0);
  const std::int64_t calls = calls_on_files();
  ASSERT_NE(run(2, short_run(task, "c"), {0, std::to_string(calls - 8) + ":kill"}), 0);
  ASSERT_TRUE(fs::exists(folder_ / "c/state.safetensors"));
  fs::copy(folder_ / "c", folder_ / "d", fs::copy_options::recursive);
  if (task == "language-model") {  // one with two batches a step is the same from there on
    fs::copy(folder_ / "d", folder_ / "e", fs::copy_options::recursive);
    ASSERT_EQ(run(0, short_run(task, "e", {"--resume", "--accumulate", "2", "--allow-changes"})), 0);
    EXPECT_LT(difference("a", "e"), 1e-4);
  }
  ASSERT_EQ(run_all({{2, short_run(task, "c", {"--resume"})}, {3, short_run(task, "d", {"--resume"})}}),
            (std::vector<int>{0, 0}));
  EXPECT_EQ(difference("a", "c"), 0);
  EXPECT_EQ(read_file(folder_ / "a/model.safetensors"), read_file(folder_ / "c/model.safetensors"));
  EXPECT_TRUE(std::isfinite(difference("a", "d")));
}

INSTANTIATE_TEST_SUITE_P(Tasks, EveryTask,
                         testing::Values("transformer", "language-model", "masked-lm", "classify", "tag",
                                         "classify-images", "detect", "describe", "draw"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

// Batches of these weigh the same, so that adding up N of them is what N processes do, dropout and all.
TEST_F(Together, AreOneProcessButForRounding) {
  for (const char* task : {"language-model", "classify-images"}) {
    for (const int ranks : {2, 4}) {
      const std::string n = std::to_string(ranks), name = std::string(task) + n;
      const Words hundred = {"--steps", "100", "--validate-every", "100", "--save-every", "100", "--log-every", "50"};
      ASSERT_EQ(run_all({{ranks, with(short_run(task, name), hundred)},
                         {0, with(short_run(task, name + "alone", {"--accumulate", n}), hundred)}}),
                (std::vector<int>{0, 0}));
      const double largest = difference(name, name + "alone");
      std::cout << task << ", " << ranks << " ranks, 100 steps: largest difference " << largest << "\n";
      EXPECT_LT(largest, 2e-3);
    }
  }
}

// Moments, averages and masters in shards are the same numbers elsewhere: to the bit, also from one number of processes
// to another.
TEST_F(Together, ShardsOfTheOptimizerChangeNothing) {
  const std::pair<const char*, Words> tasks[] = {
      {"language-model", {"--dtype", "bf16", "--ema", "0.9", "--average", "2"}}, {"classify-images", {}}, {"draw", {}}};
  for (const auto& [task, more] : tasks) {
    const std::string name = task;
    const Words shards = with(more, {"--shard-optimizer"});
    ASSERT_EQ(
        run_all({{3, short_run(task, name + " sharded", shards)}, {3, short_run(task, name, more), {0, "count"}}}),
        (std::vector<int>{0, 0}));
    const std::int64_t calls = calls_on_files();
    EXPECT_EQ(difference(name, name + " sharded"), 0) << task;
    EXPECT_EQ(read_file(folder_ / name / "model.safetensors"),
              read_file(folder_ / (name + " sharded") / "model.safetensors"));
    ASSERT_NE(run(3, short_run(task, name + " killed", more), {0, std::to_string(calls - 8) + ":kill"}), 0);
    ASSERT_EQ(run(3, short_run(task, name + " killed", with(shards, {"--resume"}))), 0);
    EXPECT_EQ(difference(name, name + " killed"), 0) << task;
  }
}

TEST_F(Together, GradientsMayTravelInHalfTheBytes) {
  const Words more = {"--wire", "bf16"};
  ASSERT_EQ(run_all({{2, short_run("language-model", "whole")},
                     {2, short_run("language-model", "half", more)},
                     {2, short_run("language-model", "half again", more)}}),
            (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(difference("half", "half again"), 0);
  const double off = difference("whole", "half");
  EXPECT_GT(off, 0);
  EXPECT_LT(off, 0.05);
}

// The other MPI, by a plugin of its own.
TEST_F(Together, MpichGivesTheSameBits) {
  if (std::system("command -v mpirun.mpich > /dev/null") != 0 || !fs::exists(build_folder() / "libattend_mpich.so"))
    GTEST_SKIP() << "there is no MPICH";
  ASSERT_EQ(run_all({{3, short_run("language-model", "one")},
                     {3, short_run("language-model", "other"), {.launcher = "mpirun.mpich"}}}),
            (std::vector<int>{0, 0}));
  EXPECT_EQ(difference("one", "other"), 0);
  const std::string missing = (folder_ / "missing.txt").string();
  ASSERT_NE(run(2, short_run("language-model", "wrong", {"--text", missing}), {.launcher = "mpirun.mpich"}), 0);
}

TEST_F(Together, OneThatDiesEndsAllAndNothingIsLost) {
  const Words words = with(short_run("language-model", "dies"), {"--steps", "1000000"});
  const Started started = start_ranks(3, words, folder_);
  wait_for_file(folder_ / "dies/state.safetensors");
  const std::vector<pid_t> ranks = ranks_of(started.pid);
  ASSERT_EQ(ranks.size(), 3u);
  kill(ranks[1], SIGKILL);
  EXPECT_NE(wait_for(started), 0);
  EXPECT_NE(read_file(started.err).find("rank 1"), std::string::npos) << read_file(started.err);
  EXPECT_EQ(run(2, with(short_run("language-model", "dies", {"--resume", "--allow-changes"}), {"--minutes", "0.01"})),
            0);
}

// Messages of other sizes would be the end of MPI, and other texts of what the run is worth.
TEST_F(Together, SettingsAndFilesThatDifferAreRefused) {
  write_file(folder_ / "other.txt", read_file(folder_ / "train.en") + "one more\n");
  const std::pair<std::string, std::string> others[] = {
      {"--batch 3", "batch is 3 for rank 1, but "},
      {"--wire bf16", "--wire is \"bf16\" for rank 1, but \"f32\" for rank 0"},
      {"--text " + (folder_ / "other.txt").string(), "text is ["},
  };
  std::vector<Started> runs;
  for (const auto& [flags, said] : others)
    runs.push_back(start_ranks(2, short_run("language-model", "differs" + std::to_string(runs.size())), folder_,
                               {.rank = 1, .more = flags}));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_NE(wait_for(runs[i]), 0);
    const std::string said = read_file(runs[i].err);
    EXPECT_NE(said.find(others[i].second), std::string::npos) << said;
    EXPECT_FALSE(fs::exists(folder_ / ("differs" + std::to_string(i))));
  }
}

// By whoever gives up first; the others may be more patient (some waits are: for who writes or validates) and are
// there.
TEST_F(Together, OneThatHangsIsNamed) {
  const auto long_run = [&](const std::string& out, const Words& more) {
    return with(short_run("language-model", out, more),
                {"--steps", "1000000", "--save-every", "1000000", "--validate-every", "1000000"});
  };
  const std::vector<Started> runs = {
      start_ranks(3, long_run("hangs", {"--timeout", "2"}), folder_),
      start_ranks(3, long_run("patient", {}), folder_, {.rank = 1, .more = "--timeout 2"}),
  };
  for (const char* run : {"hangs", "patient"}) wait_for_lines(folder_ / run / "log.jsonl");
  for (const Started& started : runs) {
    const std::vector<pid_t> ranks = ranks_of(started.pid);
    ASSERT_EQ(ranks.size(), 3u);
    kill(ranks[2], SIGSTOP);
  }
  for (const Started& started : runs) {
    EXPECT_NE(wait_for(started), 0);
    const std::string said = read_file(started.err);
    EXPECT_NE(said.find("rank 2 of 3 ranks does not answer any more"), std::string::npos) << said;
  }
}

// Writing is for rank 0; the others read.
TEST_F(Together, AFullDiskNamesTheRank) {
  const Words words = short_run("language-model", "whole");
  ASSERT_EQ(run(2, words, {0, "count"}), 0);
  const std::int64_t calls = calls_on_files();
  ASSERT_NE(run(2, short_run("language-model", "full"), {0, std::to_string(calls - 8) + ":ENOSPC"}), 0);
  EXPECT_NE(said_.find("attend: rank 0 of 2: "), std::string::npos) << said_;
  EXPECT_NE(said_.find("No space left"), std::string::npos) << said_;
  EXPECT_EQ(said_.find("attend: rank 1"), std::string::npos) << said_;
  ASSERT_EQ(run(2, short_run("language-model", "full", {"--resume"})), 0);
  EXPECT_EQ(difference("whole", "full"), 0);
  ASSERT_NE(run(2, short_run("language-model", "unread"), {1, "2:EIO"}), 0);
  EXPECT_NE(said_.find("attend: rank 1 of 2: "), std::string::npos) << said_;
  EXPECT_EQ(said_.find("attend: rank 0"), std::string::npos) << said_;
}

TEST_F(Together, SigtermToMpirunSavesAndEnds) {
  const Words words = with(short_run("language-model", "stopped"), {"--steps", "1000000", "--save-every", "100000"});
  const Started started = start_ranks(2, words, folder_);
  wait_for_file(folder_ / "stopped/state.safetensors");
  const fs::file_time_type before = fs::last_write_time(folder_ / "stopped/state.safetensors");
  std::this_thread::sleep_for(300ms);
  kill(started.pid, SIGTERM);
  EXPECT_NE(wait_for(started), 0);
  EXPECT_GT(fs::last_write_time(folder_ / "stopped/state.safetensors"), before);
  EXPECT_NE(read_file(started.out).find("Stopped at step"), std::string::npos) << read_file(started.err);
}

TEST_F(Together, WhatIsWrongForAllIsSaidOnce) {
  Words words = short_run("language-model", "wrong");
  words = with(words, {"--text", (folder_ / "missing.txt").string()});
  const Started started = start_ranks(3, words, folder_);
  EXPECT_NE(wait_for(started), 0);
  const std::string said = read_file(started.err);
  EXPECT_NE(said.find("attend: rank 0 of 3: "), std::string::npos) << said;
  EXPECT_EQ(said.find("attend: rank 1"), std::string::npos) << said;
}

}  // namespace
}  // namespace attend::test
