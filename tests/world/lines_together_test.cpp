// Lines of large files shared out to several processes: every byte is that of one process, also when they are stopped
// and gone on with.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "attend/base/os.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/heads/toy_labels.h"
#include "tests/train/recipes/translation/toy_corpus.h"
#include "tests/world/mpirun.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class LinesTogether : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!no_mpirun().empty()) return;
    folder() = scratch_folder("attend_lines");
    write_toy_corpus(folder(), {.pairs = 300, .seed = 1});
    write_toy_labels(folder(), 60);
    const auto made = [](Words words) {
      words.insert(words.end(), {"--steps", "3"});
      const Outcome outcome = run_attend(words);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
    };
    made(toy_training(folder(), folder() / "translator"));
    made(toy_masked_training(folder(), folder() / "bert"));
    made(toy_head_training(folder(), "classify", ".tsv", folder() / "bert", folder() / "classifier"));
    made(toy_head_training(folder(), "tag", ".conll", folder() / "bert", folder() / "tagger"));
  }
  static void TearDownTestSuite() {
    if (!folder().empty()) fs::remove_all(folder());
  }
  void SetUp() override {
    if (const std::string why = no_mpirun(); !why.empty()) GTEST_SKIP() << "several processes: " << why;
  }
  static fs::path& folder() {
    static fs::path path;
    return path;
  }
  static Words reading(const std::string& command, const std::string& model, const Words& more = {}) {
    Words words = {command,     "--model", (folder() / model).string(),      "--batch", "2",
                   "--threads", "1",       (folder() / "train.en").string(), "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(LinesTogether, EveryByteIsThatOfOneProcess) {
  const std::pair<const char*, const char*> commands[] = {
      {"translate", "translator"}, {"embed", "bert"}, {"classify", "classifier"}, {"tag", "tagger"}};
  for (const auto& [command, model] : commands) {
    const Outcome alone = run_attend(reading(command, model));
    ASSERT_EQ(alone.code, 0) << alone.err;
    const Started together[] = {start_ranks(2, reading(command, model), folder()),
                                start_ranks(3, reading(command, model), folder())};
    for (const Started& started : together) {
      ASSERT_EQ(wait_for(started), 0) << read_file(started.err);
      EXPECT_EQ(read_file(started.out), alone.out) << command;
    }
  }
}

// Else each would cut the lines in its own way.
TEST_F(LinesTogether, FlagsThatDifferAreRefused) {
  const Started started = start_ranks(2, reading("embed", "bert"), folder(), {.rank = 1, .more = "--pooling cls"});
  EXPECT_NE(wait_for(started), 0);
  const std::string said = read_file(started.err);
  EXPECT_NE(said.find(R"(pooling is "cls" for rank 1, but "" for rank 0)"), std::string::npos) << said;
  EXPECT_EQ(read_file(started.out), "");
}

// Rank 0 is killed at every so many calls on files on the way.
TEST_F(LinesTogether, WhatIsDoneIsNotDoneAgain) {
  const auto answers_at = [](std::int64_t i) { return (folder() / ("answers" + std::to_string(i))).string(); };
  const auto words_at = [&](std::int64_t i) {
    return reading("embed", "bert", {"--output", answers_at(i), "--resume"});
  };
  const std::string answers = answers_at(0);
  const Words words = words_at(0);
  const Outcome alone = run_attend(reading("embed", "bert"));
  const Started counted = start_ranks(2, words, folder(), {0, "count"});
  ASSERT_EQ(wait_for(counted), 0) << read_file(counted.err);
  EXPECT_EQ(read_file(answers), alone.out);
  EXPECT_FALSE(fs::exists(answers + ".resume"));
  const std::string said = read_file(counted.err);
  const std::size_t end = said.find(" calls on files");
  ASSERT_NE(end, std::string::npos) << said;
  const std::int64_t calls = std::stoll(said.substr(said.rfind(' ', end - 1) + 1));

  int killed = 0;
  std::vector<Started> hurt, resumed;
  for (std::int64_t before_end = 3; before_end <= 12; before_end += 3)
    hurt.push_back(start_ranks(3, words_at(before_end), folder(), {0, std::to_string(calls - before_end) + ":kill"}));
  for (const Started& started : hurt) killed += wait_for(started) != 0;
  EXPECT_EQ(killed, 4);
  for (std::int64_t before_end = 3; before_end <= 12; before_end += 3) {
    ASSERT_TRUE(fs::exists(answers_at(before_end) + ".resume"));
    resumed.push_back(start_ranks(2, words_at(before_end), folder()));
  }
  for (const Started& started : resumed) ASSERT_EQ(wait_for(started), 0) << read_file(started.err);
  for (std::int64_t before_end = 3; before_end <= 12; before_end += 3)
    EXPECT_EQ(read_file(answers_at(before_end)), alone.out);

  const Outcome again = run_attend(words);
  EXPECT_EQ(again.code, 0);
  EXPECT_NE(again.err.find("is complete"), std::string::npos) << again.err;
  EXPECT_EQ(read_file(answers), alone.out);
}

// One process.
class Lines : public testing::Test {
 protected:
  void SetUp() override {
    write_toy_labels(folder, 60);
    Words words = toy_masked_training(folder, folder / "bert");
    words.insert(words.end(), {"--steps", "1"});
    ASSERT_EQ(run_attend(words).code, 0);
  }
  void TearDown() override { fs::remove_all(folder); }
  Outcome embed(const Words& more) const {
    Words all = {"embed", "--model", (folder / "bert").string(), "--threads", "1", "--batch", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return run_attend(all);
  }

  const fs::path folder = scratch_folder("attend_lines_alone");
  const std::string text = (folder / "train.txt").string(), answers = (folder / "answers").string();
};

TEST_F(Lines, AResumeThatDoesNotFitIsRefused) {
  EXPECT_NE(embed({text, "--resume"}).err.find("--resume needs --output"), std::string::npos);
  EXPECT_NE(embed({"--resume", "--output", answers}).err.find("name the files"), std::string::npos);
  write_file(answers, "");
  write_file(answers + ".resume", R"({"lines": 4, "bytes": 100, "window": 16, "files": []})");
  EXPECT_NE(embed({text, "--resume", "--output", answers}).err.find("another command"), std::string::npos);
  write_file(answers + ".resume", "nonsense");
  const Outcome damaged = embed({text, "--resume", "--output", answers});
  EXPECT_EQ(damaged.code, 1) << damaged.err;
  const Outcome without = embed({text, "--output", answers});
  EXPECT_EQ(without.code, 0) << without.err;
  EXPECT_EQ(read_file(answers), embed({text}).out);
  // What is read is never written over.
  const std::string before = read_file(text);
  EXPECT_NE(embed({text, "--output", text}).err.find("would be lost"), std::string::npos);
  EXPECT_EQ(read_file(text), before);
  EXPECT_EQ(embed({text, "--batch", "0"}).code, 1);
  EXPECT_EQ(embed({text, "--batch", "9223372036854775807"}).code, 1);
}

// A note is kept whether or not anybody thought of --resume beforehand: a file that was cut short is not complete.
TEST_F(Lines, WhatWasKilledWithoutResumeCanBeGoneOnWith) {
  const std::string whole = embed({text}).out;
  {
    std::int64_t notes = 0;  // the third says that the second window is done
    const os::FaultInjection full([&](os::Call call, const fs::path& path) {
      const bool note = call == os::Call::rename && path.string().find(".resume") != std::string::npos;
      return note && ++notes == 3 ? ENOSPC : 0;
    });
    EXPECT_EQ(embed({text, "--output", answers}).code, 1);
  }
  ASSERT_TRUE(fs::exists(answers + ".resume"));
  EXPECT_NE(
      embed({text, "--output", answers, "--resume", "--normalize"}).err.find("normalize is true for this command"),
      std::string::npos);
  EXPECT_EQ(embed({text, "--output", answers, "--resume"}).code, 0);
  EXPECT_EQ(read_file(answers), whole);
  EXPECT_FALSE(fs::exists(answers + ".resume"));
}

}  // namespace
}  // namespace attend::test
