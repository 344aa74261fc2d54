// attend completions and attend manual: nothing of the help is missing in them.
#include "attend/cli/write_documents.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/run_attend.h"

namespace attend {
namespace {

TEST(Documents, HelpIsTakenApart) {
  const cli::HelpPage page = cli::read_help(
      "Translates.\nUsage: attend translate [OPTIONS] [files...]\n\nPositionals:\n"
      "  files TEXT ...                  text\n\nOptions:\n"
      "  -h,--help                       Print this\n"
      "  --temperature FLOAT=1 Needs: --sample\n"
      "                                  of --sample\n"
      "  --model TEXT REQUIRED           a folder\n\nExamples:\n  attend translate\n");
  EXPECT_EQ(page.summary, "Translates.");
  EXPECT_EQ(page.usage, "attend translate [OPTIONS] [files...]");
  EXPECT_EQ(page.examples, "  attend translate\n");
  ASSERT_EQ(page.places.size(), 1u);
  EXPECT_EQ(page.places[0].name, "files");
  ASSERT_EQ(page.flags.size(), 3u);
  EXPECT_EQ(page.flags[0].name, "-h,--help");
  EXPECT_EQ(page.flags[0].value, "");
  EXPECT_EQ(page.flags[1].name, "--temperature");
  EXPECT_EQ(page.flags[1].value, "FLOAT=1");
  EXPECT_EQ(page.flags[1].text, "of --sample");
  EXPECT_EQ(page.flags[2].value, "TEXT");
  EXPECT_EQ(page.flags[2].text, "a folder");
}

TEST(Documents, EveryFlagIsInEveryShellsCompletions) {
  const cli::HelpPage program = cli::read_help(test::run_attend({"--help"}).out);
  ASSERT_GT(program.commands.size(), 20u);
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const test::Outcome result = test::run_attend({"completions", shell});
    ASSERT_EQ(result.code, 0) << result.err;
    for (const cli::HelpEntry& command : program.commands)
      EXPECT_NE(result.out.find(command.name), std::string::npos) << shell << " " << command.name;
    for (const cli::HelpEntry& flag : cli::read_help(test::run_attend({"help", "translate"}).out).flags) {
      const std::string name = flag.name.substr(flag.name.find("--") + 2);
      EXPECT_NE(result.out.find(name), std::string::npos) << shell << " " << name;
    }
  }
  EXPECT_EQ(test::run_attend({"completions", "tcsh"}).code, 1);
}

// Those that only attend train --task X --help shows are flags, too.
TEST(Documents, FlagsOfEveryTaskAreThereOnce) {
  const test::Outcome bash = test::run_attend({"completions", "bash"}),
                      fish = test::run_attend({"completions", "fish"});
  const std::size_t train = bash.out.find(" train) words='");
  ASSERT_NE(train, std::string::npos);
  const std::string words = bash.out.substr(train, bash.out.find("' ;;", train) - train) + " ";
  for (const char* task : {"translation", "language-model", "classify", "classify-images", "draw"})
    for (const cli::HelpEntry& flag : cli::read_help(test::run_attend({"train", "--task", task, "--help"}).out).flags) {
      const std::string all = flag.name.substr(flag.name.find("--")), name = all.substr(0, all.find(','));
      const std::size_t at = std::min(words.find(" " + name + " "), words.find("'" + name + " "));
      EXPECT_NE(at, std::string::npos) << task << " " << name;
      EXPECT_EQ(words.find(" " + name + " ", at + 1), std::string::npos) << "twice: " << name;
    }
  EXPECT_NE(fish.out.find("attention-window"), std::string::npos);
}

TEST(Documents, TheManualHasAllCommands) {
  const test::Outcome result = test::run_attend({"manual"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out.find(".TH ATTEND 1"), 0u);
  EXPECT_NE(result.out.find(".B train\\-tokenizer\n"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace attend
