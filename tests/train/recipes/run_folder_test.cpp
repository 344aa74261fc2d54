// Nothing lost: what attend train does to folders that hold something already, to runs that do not fit, and to those
// that another process works on.
#include "attend/train/loop/run_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/os.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/heads/toy_labels.h"
#include "tests/train/recipes/translation/toy_corpus.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class RunFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_folder");
    write_toy_corpus(folder_, {.pairs = 40, .seed = 3});
    write_toy_labels(folder_, 20);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Words language(const Words& more, const std::string& out = "model") const {
    Words args = toy_language_training(folder_, folder_ / out);
    args.insert(args.end(), {"--steps", "4", "--validate-every", "2", "--save-every", "2", "--average", "2"});
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  // Learning from this file instead.
  Words language_of(const fs::path& text, const Words& more) const {
    Words args = language(more);
    *std::next(std::ranges::find(args, "--text")) = text.string();
    return args;
  }
  // Exit code 1, one line that says so, and not a byte of the folder is another.
  void expect_refusal(const Words& args, const std::string& part, const std::string& out = "model") const {
    const auto before = bytes_in(folder_ / out);
    const Outcome outcome = run_attend(args);
    EXPECT_EQ(outcome.code, 1) << outcome.out;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    const std::size_t said = outcome.err.rfind("attend: ");
    EXPECT_EQ(outcome.err.find('\n', said), outcome.err.size() - 1) << outcome.err;
    EXPECT_TRUE(bytes_in(folder_ / out) == before) << part;
  }

  fs::path folder_;
};

TEST_F(RunFolderTest, FoldersOfOthersAreRefused) {
  write_file(folder_ / "theirs/model.safetensors", "a model of years");
  write_file(folder_ / "theirs/checkpoints/best", "the best of it");
  write_file(folder_ / "theirs/tokenizer.json", "{}");
  for (const char* more : {"--overwrite", "--seed=2"})
    expect_refusal(language({more}, "theirs"), "which no training run wrote", "theirs");
  expect_refusal(language({"--resume"}, "theirs"), "there is no run in", "theirs");
  expect_refusal(toy_training(folder_, folder_ / "theirs"), "which no training run wrote", "theirs");
  expect_refusal(toy_masked_training(folder_, folder_ / "theirs"), "which no training run wrote", "theirs");
  ASSERT_EQ(run_attend([&] {
              Words args = toy_masked_training(folder_, folder_ / "start");
              args.insert(args.end(), {"--steps", "2"});
              return args;
            }())
                .code,
            0);
  const Outcome head =
      run_attend(toy_head_training(folder_, "classify", ".tsv", folder_ / "start", folder_ / "theirs"));
  EXPECT_EQ(head.code, 1);
  EXPECT_EQ(read_file(folder_ / "theirs/model.safetensors"), "a model of years");
  write_file(folder_ / "file", "");
  EXPECT_NE(run_attend(language({}, "file")).err.find("is a file"), std::string::npos);
}

TEST_F(RunFolderTest, AFailedStartLeavesNothing) {
  EXPECT_EQ(run_attend(language({"--text", "typo.txt"}, "a/b/model")).code, 1);
  EXPECT_FALSE(fs::exists(folder_ / "a"));
  write_file(folder_ / "bad.json", "{}");
  EXPECT_EQ(run_attend(language({"--tokenizer", (folder_ / "bad.json").string()}, "a/b/model")).code, 1);
  EXPECT_FALSE(fs::exists(folder_ / "a"));
}

TEST_F(RunFolderTest, OverwritingWithAMistakeKeepsTheRun) {
  ASSERT_EQ(run_attend(language({})).code, 0);
  write_file(folder_ / "bad.json", "{}");
  write_file(folder_ / "latin", "na\xEFve\n");
  expect_refusal(language({"--overwrite", "--text", "typo.txt"}), "typo.txt");
  expect_refusal(language({"--overwrite", "--tokenizer", (folder_ / "bad.json").string()}), "bad.json");
  expect_refusal(language({"--overwrite", "--valid-text", (folder_ / "latin").string()}), "not UTF-8");
  expect_refusal(language({"--overwrite", "--heads", "3"}), "heads");
  // A user's own file in the folder stays through all of it.
  write_file(folder_ / "model/notes.txt", "mine");
  EXPECT_EQ(run_attend(language({"--overwrite", "--seed", "7"})).code, 0);
  EXPECT_EQ(read_file(folder_ / "model/notes.txt"), "mine");
  EXPECT_FALSE(fs::exists(folder_ / "model/.old-run"));
  EXPECT_FALSE(fs::exists(folder_ / "model/run.lock"));
}

// The new run dies before its first state is there: the old one is as it was.
TEST_F(RunFolderTest, AnOverwrittenRunComesBack) {
  ASSERT_EQ(run_attend(language({})).code, 0);
  const auto before = bytes_in(folder_ / "model");
  {
    const os::FaultInjection full([](os::Call call, const fs::path& path) {
      return call == os::Call::write && path.filename() == "state.safetensors" ? ENOSPC : 0;
    });
    const Outcome outcome = run_attend(language({"--overwrite", "--seed", "7"}));
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find("No space left"), std::string::npos) << outcome.err;
  }
  EXPECT_TRUE(bytes_in(folder_ / "model") == before);
}

TEST_F(RunFolderTest, FilesThatTheRunDidNotWriteAreNotReplaced) {
  ASSERT_EQ(run_attend(language({})).code, 0);
  write_file(folder_ / "model/model.safetensors", "somebody's weights");
  expect_refusal(language({"--resume", "--steps", "8"}), "was changed since the run wrote it");
  expect_refusal(language({"--overwrite"}), "was changed since the run wrote it");
  fs::remove(folder_ / "model/model.safetensors");
  write_file(folder_ / "model/vocab.txt", "mine");
  EXPECT_EQ(run_attend(language({"--overwrite"})).code, 0);
  EXPECT_EQ(read_file(folder_ / "model/vocab.txt"), "mine");
}

TEST_F(RunFolderTest, ARefusedResumeChangesNoByte) {
  ASSERT_EQ(run_attend(language({"--activation", "gelu"})).code, 1);  // GPT-2 has no such setting
  ASSERT_EQ(run_attend(language({})).code, 0);
  expect_refusal(language({"--resume", "--width", "64"}), "width is 64, was 32");
  expect_refusal(language({"--resume", "--heads", "4"}), "heads is 4, was 2");
  expect_refusal(language({"--resume", "--seed", "9"}), "seed is 9, was 1");
  expect_refusal(language_of(folder_ / "train.fr", {"--resume"}), "not what the run has learned from");
  expect_refusal(language({"--resume", "--text", (folder_ / "train.fr").string()}), "train.fr' is new");
  expect_refusal(language({"--resume", "--text", "x"}), "cannot open 'x'");
  // Shapes that do not fit are refused even so, and nothing has changed by then.
  expect_refusal(language({"--resume", "--allow-changes", "--width", "64", "--steps", "8"}), "another model");
  EXPECT_EQ(run_attend(language({"--resume", "--steps", "8", "--learning-rate", "0.001", "--log-every", "1"})).code, 0);
  EXPECT_EQ(read_json(folder_ / "model/recipe.json")["steps"], 8);
  EXPECT_EQ(run_attend(language({"--resume", "--allow-changes", "--steps", "10", "--dropout", "0"})).code, 0);
}

TEST_F(RunFolderTest, TextsAreKnownByTheirBytes) {
  ASSERT_EQ(run_attend(language({})).code, 0);
  fs::copy(folder_ / "train.en", folder_ / "moved.en");
  EXPECT_EQ(run_attend(language_of(folder_ / "moved.en", {"--resume", "--steps", "6"})).code, 0);
  std::string text = read_file(folder_ / "train.en");
  text[0] = text[0] == 'o' ? 'O' : 'o';
  write_file(folder_ / "train.en", text);
  expect_refusal(language({"--resume", "--steps", "8"}), "not what the run has learned from");
  EXPECT_EQ(run_attend(language({"--resume", "--steps", "8", "--allow-changes"})).code, 0);
  EXPECT_EQ(run_attend(language({"--resume", "--steps", "9"})).code, 0);  // and is what it learns from now
}

TEST_F(RunFolderTest, LeftTemporariesGoAndBlockNothing) {
  ASSERT_EQ(run_attend(language({})).code, 0);
  write_file(folder_ / "model/config.json.1-0.tmp", "of a process with a number that comes again");
  write_file(folder_ / "model/config.json.0123456789abcdef.tmp", "of a process that was killed");
  write_file(folder_ / "model/checkpoints/step-2.safetensors.0123456789abcdef.tmp", "another");
  write_file(folder_ / "model/my.tmp", "mine");
  EXPECT_EQ(run_attend(language({"--resume", "--steps", "6"})).code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "model/config.json.0123456789abcdef.tmp"));
  EXPECT_FALSE(fs::exists(folder_ / "model/checkpoints/step-2.safetensors.0123456789abcdef.tmp"));
  EXPECT_TRUE(fs::exists(folder_ / "model/my.tmp"));
}

TEST_F(RunFolderTest, OneRunAFolder) {
  ASSERT_EQ(run_attend(language({})).code, 0);
  const train::RunLock held(folder_ / "model");
  for (const char* how : {"--resume", "--overwrite"}) {
    const Outcome outcome = run_attend(language({how, "--steps", "9"}));
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find("process " + std::to_string(getpid()) + " on "), std::string::npos) << outcome.err;
  }
}

TEST_F(RunFolderTest, PipesAndOtherThingsAreNoTexts) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  write_file(folder_ / "empty", "");
  const auto said = [&](const fs::path& text) { return run_attend(language({"--text", text.string()})).err; };
  EXPECT_NE(said(folder_ / "pipe").find("is a pipe or a device"), std::string::npos);
  EXPECT_NE(said("/dev/zero").find("is a pipe or a device"), std::string::npos);
  EXPECT_NE(said(folder_ / "empty").find("is empty"), std::string::npos);
  EXPECT_NE(said(folder_).find("is a folder"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "model"));
}

// Lines of the log, without what a clock decides.
std::vector<std::string> lines_of(const fs::path& log) {
  std::vector<std::string> lines;
  std::istringstream in(read_file(log));
  for (std::string line; std::getline(in, line);) {
    Json kept = Json::object();
    const Json json = Json::parse(line);
    for (const char* key : {"step", "loss", "learning_rate", "gradient_norm", "validation", "averaged"})
      if (const auto found = json.find(key); found != json.end()) kept[key] = *found;
    lines.push_back(kept.dump());
  }
  return lines;
}

// Rows of curves.csv, likewise.
std::vector<std::string> rows_of(const fs::path& table) {
  std::vector<std::string> rows;
  std::istringstream in(read_file(table));
  for (std::string row; std::getline(in, row);) {
    const std::size_t first = row.find(','), second = row.find(',', first + 1);
    if (row.find("_per_second") == std::string::npos && row.find("activation_bytes") == std::string::npos)
      rows.push_back(row.substr(0, first) + row.substr(second));
  }
  return rows;
}

TEST_F(RunFolderTest, TheLogOfAResumedRunIsThatOfAWholeOne) {
  const Words log = {"--log-every", "5", "--save-every", "3", "--validate-every", "6", "--schedule", "linear"};
  const auto with = [&](const Words& more, const std::string& out) {
    Words args = language(log, out);
    args.insert(args.end(), more.begin(), more.end());
    return args;
  };
  ASSERT_EQ(run_attend(with({"--steps", "12"}, "whole")).code, 0);
  {
    int states = 0;  // it stops when the third state, of step 9, is in place
    const os::FaultInjection stop([&](os::Call call, const fs::path& path) {
      if (call == os::Call::rename && path.filename() == "state.safetensors") ++states;
      return states >= 4 ? EIO : 0;
    });
    ASSERT_EQ(run_attend(with({"--steps", "12"}, "parts")).code, 1);
  }
  ASSERT_EQ(run_attend(with({"--steps", "12", "--resume"}, "parts")).code, 0);
  EXPECT_EQ(lines_of(folder_ / "parts/log.jsonl"), lines_of(folder_ / "whole/log.jsonl"));
  const std::vector<std::string> rows = rows_of(folder_ / "whole/curves.csv");
  EXPECT_EQ(rows_of(folder_ / "parts/curves.csv"), rows);
  EXPECT_EQ(rows.front(), "step,curve,value");
  EXPECT_NE(std::ranges::find_if(rows, [](const auto& row) { return row.starts_with("12,validation/loss,"); }),
            rows.end());
  const auto events = [&](const char* run) { return read_file(folder_ / run / "events.out.tfevents").size(); };
  EXPECT_EQ(events("parts"), events("whole"));
  ASSERT_EQ(run_attend(with({"--steps", "12", "--resume"}, "parts")).code, 0);  // there is nothing left to do
  EXPECT_EQ(lines_of(folder_ / "parts/log.jsonl"), lines_of(folder_ / "whole/log.jsonl"));
  EXPECT_EQ(rows_of(folder_ / "parts/curves.csv"), rows);
  EXPECT_EQ(events("parts"), events("whole"));
}

}  // namespace
}  // namespace attend::test
