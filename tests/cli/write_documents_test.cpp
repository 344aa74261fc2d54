// attend completions and attend manual have every flag of --help.
#include "attend/cli/write_documents.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "attend/cli/support/help_page.h"
#include "tests/cli/run_attend.h"

namespace attend {
namespace {

cli::HelpPage page_of(std::vector<std::string> words) {
  words.emplace_back("--help-json");
  return cli::read_help_page(test::run_attend(words).out);
}

TEST(Documents, EveryFlagIsInEveryShellsCompletions) {
  const cli::HelpPage program = page_of({});
  ASSERT_GT(program.commands.size(), 20u);
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const test::Outcome result = test::run_attend({"completions", shell});
    ASSERT_EQ(result.code, 0) << result.err;
    for (const cli::HelpEntry& command : program.commands)
      EXPECT_NE(result.out.find(command.names[0]), std::string::npos) << shell << " " << command.names[0];
    for (const cli::HelpEntry& flag : page_of({"translate"}).flags) {
      const std::string name = flag.names.back().substr(2);
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
    for (const cli::HelpEntry& flag : page_of({"train", "--task", task}).flags) {
      const std::string name = flag.names.front().starts_with("--") ? flag.names.front() : flag.names.back();
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
  EXPECT_NE(result.out.find(".SH EXAMPLES\n.nf\nattend demo"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace attend
