// What the program says to who does not know it yet: help, and hints at what was meant.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "tests/cli/run_attend.h"

namespace attend::test {
namespace {

std::string out_of(const std::vector<std::string>& words) {
  const Outcome outcome = run_attend(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out;
}
std::string error_of(const std::vector<std::string>& words) {
  const Outcome outcome = run_attend(words);
  EXPECT_EQ(outcome.code, 1) << outcome.out;
  return outcome.err;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
// A flag with its default, which is written alike whatever release of CLI11 there is.
bool has_default(const std::string& help, const std::string& flag, const std::string& value) {
  return has(help, flag + "=" + value + " ");
}

TEST(Help, IsACommandToo) {
  EXPECT_EQ(out_of({"help"}), out_of({"--help"}));
  EXPECT_EQ(out_of({"help", "translate"}), out_of({"translate", "--help"}));
  EXPECT_EQ(out_of({"help", "train", "--task", "tag"}), out_of({"train", "--task", "tag", "--help"}));
  EXPECT_EQ(out_of({"help", "help"}), out_of({"--help"}));
  EXPECT_TRUE(has(error_of({"help", "trian"}), "did you mean 'train'?"));
}

TEST(Help, WhatIsMissingIsSaidWithWhatItIs) {
  EXPECT_TRUE(has(error_of({"make-data"}), "make-data needs WHAT: scenes, dates, "));
  EXPECT_TRUE(has(error_of({"make-data", "dates"}), "make-data needs --out: the folder to make"));
  EXPECT_TRUE(has(error_of({"info"}), "info needs MODEL: a model's folder, or a shipped model's name"));
  EXPECT_TRUE(has(out_of({"info", "--model", "dates"}), "attend translate"));
  EXPECT_TRUE(has(run_attend({"translate", "--n-best", "5"}, "Yes.\n").err, "take --beams 5"));
}

// A file that is no JSON, or no recipe, is told about by the command that reads it, not by who looks for a task in it.
TEST(Help, ABrokenFileIsNoCrash) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "attend_broken_recipes";
  std::filesystem::create_directories(folder);
  const std::string broken = (folder / "broken.json").string(), odd = (folder / "odd.json").string();
  write_file(broken, "{"), write_file(odd, R"({"task": 3})");
  EXPECT_TRUE(has(error_of({"train", broken}), "broken.json: not valid JSON"));
  EXPECT_TRUE(has(error_of({"train", odd}), "unknown task 3"));
  EXPECT_TRUE(has(error_of({"score", "--hypotheses", "a", "no", broken}), "attend: "));
  std::filesystem::remove_all(folder);
}

// The lines of a help page that are commands, without the comment behind them.
std::vector<std::string> examples_in(const std::string& help) {
  std::vector<std::string> found;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  attend ") || line.find(" | attend ") != std::string::npos)
      found.push_back(line.substr(2, line.find(" # ") - 2));
  return found;
}

// Examples can be pasted: what is behind a command is a comment, and its flags are those of its command.
TEST(Help, ExamplesAreCommands) {
  std::vector<std::string> commands;
  std::istringstream lines(out_of({"--help"}));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  ") && line.size() > 2 && line[2] >= 'a' && line[2] <= 'z' && !has(line, "attend "))
      commands.push_back(line.substr(2, line.find(' ', 2) - 2));
  std::size_t examples = 0;
  for (const std::string& command : commands) {
    for (const std::string& example : examples_in(out_of({command, "--help"}))) {
      ++examples;
      const std::string shown = example.substr(0, example.find_last_not_of(' ') + 1);
      EXPECT_EQ(shown.find("  "), std::string::npos) << example;
      std::istringstream words(shown.substr(shown.rfind("attend ") + 7));
      std::string name, task;
      words >> name;
      std::vector<std::string> flags;
      for (std::string word, before; words >> word; before = word) {
        if (before == "--task") task = word;
        if (word.starts_with("--")) flags.push_back(word);
      }
      if (name == "train" && task.empty()) task = "translation";
      std::vector<std::string> asked = {name, "--help"};
      if (name == "train") asked.insert(asked.begin() + 1, {"--task", task});
      const std::string help = name == "help" ? "" : out_of(asked);
      for (const std::string& flag : flags) EXPECT_TRUE(has(help, flag)) << example;
    }
  }
  EXPECT_GT(examples, 80u);
}

TEST(Help, FlagsThatWereMistyped) {
  EXPECT_EQ(error_of({"translate", "--beam", "3"}),
            "attend: translate: there is no flag '--beam'; did you mean '--beams'? (see attend translate --help)\n");
  EXPECT_TRUE(has(error_of({"train", "--learning_rate=3"}), "did you mean '--learning-rate'?"));
  EXPECT_EQ(error_of({"devices", "--xyzzyxyzzy"}),
            "attend: devices: there is no flag '--xyzzyxyzzy' (see attend devices --help)\n");
  EXPECT_TRUE(has(error_of({"devices", "extra"}), "no place for 'extra'"));
  EXPECT_EQ(error_of({"train", "--bogus", "3"}),
            "attend: train: there is no flag '--bogus' (see attend train --help)\n");
  EXPECT_EQ(error_of({"--bogus"}), "attend: there is no flag '--bogus' (see attend --help)\n");
}

TEST(Help, OfATaskShowsItsFlagsWithTheirDefaults) {
  const std::string tag = out_of({"train", "--task", "tag", "--help"});
  EXPECT_TRUE(has(tag, "--label-column")) << tag;
  EXPECT_TRUE(has_default(tag, "--epochs FLOAT", "3")) << tag;
  EXPECT_TRUE(has_default(tag, "--learning-rate FLOAT", "5e-05")) << tag;
  for (const char* part : {"--valid-target", "--patch-size", "--queries", "--masked", "recipes/multi30k"})
    EXPECT_FALSE(has(tag, part)) << part;
  const std::string tiny = out_of({"train", "--task", "translation", "--preset", "tiny", "--help"});
  EXPECT_TRUE(has_default(tiny, "--width INT", "128")) << tiny;
  EXPECT_FALSE(has(tiny, "--cell"));
  EXPECT_TRUE(
      has_default(out_of({"train", "--task=translation", "--model", "rnn-plain", "--help"}), "--cell TEXT", "gru"));
  EXPECT_TRUE(has_default(out_of({"train", "recipes/shakespeare.json", "--help"}), "--block INT", "256"));
  const std::string all = out_of({"train", "--help"});
  EXPECT_TRUE(has(all, "--steps"));
  EXPECT_TRUE(has(all, "language-model"));
  EXPECT_FALSE(has(all, "--patch-size"));
}

TEST(Help, OfATaskHidesWhatItRefuses) {
  const std::string labels = out_of({"train", "--task", "classify-images", "--help"}),
                    captions = out_of({"train", "--task", "describe", "--help"}),
                    drawings = out_of({"train", "--task", "draw", "--help"});
  for (const char* flag : {"--mixup", "--cutmix"}) {
    EXPECT_TRUE(has(labels, flag)) << flag;
    EXPECT_FALSE(has(captions, flag)) << flag;
    EXPECT_FALSE(has(drawings, flag)) << flag;
  }
  EXPECT_TRUE(has(captions, "--erasing") && has(captions, "--rand-augment-operations"));
  for (const char* flag : {"--erasing", "--rand-augment-operations", "--mean"})
    EXPECT_FALSE(has(drawings, flag)) << flag;
  EXPECT_TRUE(has(error_of({"train", "--task", "tag", "--mixup", "1"}), "it belongs to --task classify-images\n"));
  // Files of images are named by one flag.
  EXPECT_TRUE(has(captions, "--images TEXT") && has(out_of({"train", "--task", "detect", "--help"}), "--images TEXT"));
}

TEST(Help, TrainSaysWhatItNeeds) {
  const std::string alone = error_of({"train"});
  for (const char* part : {"--source, --target, --valid-source, --valid-target and --out", "recipes/minutes",
                           "language-model", "attend train --task translation --help"})
    EXPECT_TRUE(has(alone, part)) << alone;
  EXPECT_TRUE(has(error_of({"train", "--task", "masked-lm", "--text", "a"}), "needs --valid-text and --out"));
  const std::string wrong = error_of({"train", "--task", "tag", "--preset", "tiny"});
  EXPECT_TRUE(has(wrong, "--preset is not a flag of --task tag; it belongs to --task translation")) << wrong;
  const std::string task = error_of({"train", "--task", "languge-model", "--help"});
  EXPECT_TRUE(has(task, "unknown task") && has(task, "did you mean 'language-model'?")) << task;
  EXPECT_TRUE(has(error_of({"train", "--model", "rnn-plain", "--heads", "3"}),
                  "--heads is not a flag of --model rnn-plain; it belongs to --model transformer"));
  EXPECT_TRUE(has(error_of({"train", "--cell", "lstm"}), "it belongs to --model rnn-attention and rnn-plain"));
  EXPECT_TRUE(has(error_of({"train", "--text", "a", "--out", "b"}), "it belongs to --task language-model, masked-lm"));
}

TEST(Help, ALearningRateOfNothingIsRefused) {
  EXPECT_TRUE(has(error_of({"train", "--task", "masked-lm", "--text", "a", "--valid-text", "b", "--out", "c",
                            "--learning-rate", "0"}),
                  "nothing is learned"));
}

}  // namespace
}  // namespace attend::test
