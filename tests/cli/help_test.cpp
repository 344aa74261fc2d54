// --help, and hints at what was meant.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/cli/support/help_page.h"
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
cli::HelpPage page_of(std::vector<std::string> words) {
  words.emplace_back("--help-json");
  return cli::read_help_page(out_of(words));
}
std::string default_of(const cli::HelpPage& page, const std::string& flag) {
  for (const cli::HelpEntry& entry : page.flags)
    if (entry.names.front() == flag) return entry.default_value;
  return "there is no such flag";
}

TEST(Help, IsACommandToo) {
  EXPECT_EQ(out_of({"help"}), out_of({"--help"}));
  EXPECT_EQ(out_of({"help", "translate"}), out_of({"translate", "--help"}));
  EXPECT_EQ(out_of({"help", "train", "--task", "tag"}), out_of({"train", "--task", "tag", "--help"}));
  EXPECT_EQ(out_of({"help", "help"}), out_of({"--help"}));
  EXPECT_TRUE(has(error_of({"help", "trian"}), "did you mean 'train'?"));
}

TEST(Help, WhatIsMissingIsSaidWithWhatItIs) {
  EXPECT_TRUE(has(error_of({"make-data"}), "make-data needs WHAT: dataset to generate: scenes, dates, "));
  EXPECT_TRUE(has(error_of({"make-data", "dates"}), "make-data needs --out: folder to create"));
  EXPECT_TRUE(has(error_of({"info"}), "info needs MODEL: model folder, or the name of a bundled model"));
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

// Examples can be pasted: what follows a command is a comment, and its flags are those of its command.
TEST(Help, ExamplesAreCommands) {
  std::size_t examples = 0;
  std::map<std::vector<std::string>, std::string> pages;
  for (const cli::HelpEntry& command : page_of({}).commands) {
    const cli::HelpPage page = page_of({command.names[0]});
    EXPECT_FALSE(page.examples.empty()) << command.names[0];
    for (const auto& [shown, comment] : page.examples) {
      if (!has(shown, "attend ") || shown.starts_with("curl ")) continue;
      ++examples;
      EXPECT_EQ(shown.find("  "), std::string::npos) << shown;
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
      std::string& help = pages[asked];
      if (help.empty() && name != "help") help = out_of(asked);
      for (const std::string& flag : flags) EXPECT_TRUE(has(help, flag)) << shown;
    }
  }
  EXPECT_GT(examples, 80u);
}

std::vector<std::string> headings_of(const std::string& help) {
  std::vector<std::string> found;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);)
    if (line.ends_with(':') && !line.starts_with(' ')) found.push_back(line);
  return found;
}

TEST(Help, OpensWithExamplesAndGroupsTheRest) {
  using Headings = std::vector<std::string>;
  EXPECT_EQ(
      headings_of(out_of({"--help"})),
      (Headings{"Examples:", "Use a model:", "Look inside:", "Train and evaluate:", "Serve and tools:", "Options:"}));
  EXPECT_EQ(headings_of(out_of({"translate", "--help"})),
            (Headings{"Examples:", "Arguments:", "Model:", "Data:", "Decoding:", "Output:", "Performance:", "Other:",
                      "More examples:"}));
  EXPECT_EQ(headings_of(out_of({"train", "--help"})),
            (Headings{"Examples:", "Arguments:", "Tasks:", "Model:", "Training:", "Output:", "Performance:",
                      "Distributed:", "Other:", "More examples:"}));
  EXPECT_EQ(headings_of(out_of({"train", "--task", "classify-images", "--help"})),
            (Headings{"Examples:", "Arguments:", "Model:", "Data:", "Augmentation:", "Training:", "Output:",
                      "Performance:", "Distributed:", "Other:"}));
}

// Examples are not broken, and a flag's name may stand alone; all else fits.
TEST(Help, FitsTheTerminal) {
  for (const int width : {80, 120}) {
    std::istringstream in;
    for (const cli::HelpEntry& command : page_of({}).commands) {
      std::ostringstream out, err;
      const Terminal terminal{.interactive = true, .color = false, .width = width};
      ASSERT_EQ(
          cli::run_program({command.names[0], "--help"}, {.in = in, .out = out, .err = err, .out_terminal = terminal}),
          0);
      std::istringstream lines(out.str());
      std::size_t longest = 0;
      for (std::string line; std::getline(lines, line);) {
        const bool example = has(line, "attend ") || has(line, "  # ") || has(line, "curl ");
        if (!example) longest = std::max(longest, line.size());
      }
      EXPECT_LE(longest, static_cast<std::size_t>(width)) << command.names[0] << "\n" << out.str();
    }
  }
}

// One style: a sentence that opens with a capital letter, or names what the flag is for ("BLEU: ..", "coco: ..").
TEST(Help, EveryTextIsASentence) {
  std::vector<std::vector<std::string>> pages;
  for (const cli::HelpEntry& command : page_of({}).commands) pages.push_back({command.names[0]});
  for (const cli::HelpEntry& task : page_of({"train"}).topics) pages.push_back({"train", "--task", task.names[0]});
  for (const std::vector<std::string>& words : pages) {
    const cli::HelpPage page = page_of(words);
    EXPECT_TRUE(page.summary.ends_with('.')) << page.summary;
    for (const auto* entries : {&page.arguments, &page.flags})
      for (const cli::HelpEntry& entry : *entries) {
        EXPECT_TRUE(entry.text.ends_with('.')) << words[0] << " " << entry.names[0] << ": " << entry.text;
        const bool capital = std::isupper(static_cast<unsigned char>(entry.text[0])) != 0;
        EXPECT_TRUE(capital || has(entry.text, ": ")) << words[0] << " " << entry.names[0] << ": " << entry.text;
      }
  }
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
  EXPECT_EQ(default_of(page_of({"train", "--task", "tag"}), "--epochs"), "3");
  EXPECT_EQ(default_of(page_of({"train", "--task", "tag"}), "--learning-rate"), "5e-05");
  for (const char* part : {"--valid-target", "--patch-size", "--queries", "--masked", "recipes/multi30k"})
    EXPECT_FALSE(has(tag, part)) << part;
  const std::string tiny = out_of({"train", "--task", "translation", "--preset", "tiny", "--help"});
  EXPECT_EQ(default_of(page_of({"train", "--task", "translation", "--preset", "tiny"}), "--width"), "128");
  EXPECT_FALSE(has(tiny, "--cell"));
  EXPECT_EQ(default_of(page_of({"train", "--task=translation", "--model", "rnn-plain"}), "--cell"), "gru");
  EXPECT_EQ(default_of(page_of({"train", "recipes/shakespeare.json"}), "--block"), "256");
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
  // Folders of images are named by one flag.
  EXPECT_TRUE(has(captions, "--images FOLDER") &&
              has(out_of({"train", "--task", "detect", "--help"}), "--images FOLDER"));
}

TEST(Help, TrainSaysWhatItNeeds) {
  const std::string alone = error_of({"train"});
  for (const char* part : {"--source, --target, --valid-source, --valid-target and --out", "recipes/minutes",
                           "language-model", "attend train --task translation --help"})
    EXPECT_TRUE(has(alone, part)) << alone;
  EXPECT_TRUE(has(error_of({"train", "--task", "masked-lm", "--text", "a"}), "needs --valid-text and --out"));
  const std::string wrong = error_of({"train", "--task", "tag", "--r-drop", "3"});
  EXPECT_TRUE(has(wrong, "--r-drop is not a flag of --task tag; it belongs to --task translation")) << wrong;
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
