// Words on the command line become variables, or an error that says what is taken instead.
#include "attend/cli/support/flags.h"

#include <gtest/gtest.h>

#include <sstream>

#include "attend/base/error.h"

namespace attend {
namespace {

enum class Colour { red, green };

struct Variables {
  std::string text = "a b", task = "sort";
  std::vector<std::string> list, once;
  int small = 1;
  std::int64_t number = 2;
  std::uint64_t seed = 3;
  float ratio = 0.1f;
  double exact = 1e-9;
  bool flag = false, norm = true;
  std::optional<int> width = {};
  Colour colour = Colour::green;
};

struct Parsed {
  Variables variables;
  std::string out, error;
};

Parsed parse(const std::vector<std::string>& words) {
  Parsed parsed;
  Variables& v = parsed.variables;
  cli::CommandLine line({.name = "test", .help = "Tests."}, [] { return std::string("test 1"); });
  cli::Flags program = line.flags();
  cli::Flags flags = program.command({.name = "run", .help = "Runs.", .examples = "Examples: none"}, [] {});
  flags.add("files", v.list, "by their place");
  flags.add("--text", v.text, "of any kind");
  flags.add("--task", v.task, "what to do").one_of({"copy", "reverse", "sort"});
  flags.add("--once", v.once, "one value each time").one_at_a_time();
  flags.add("--small", v.small, "fits an int").between(-3, 5);
  flags.add("--number", v.number, "whole");
  flags.add("--seed", v.seed, "not below 0");
  flags.add("--ratio", v.ratio, "of both");
  flags.add("--exact", v.exact, "in full");
  const cli::Flag flag = flags.add("--flag", v.flag, "on or off");
  flags.add("--norm,!--no-norm", v.norm, "can be turned off").group("More");
  flags.add("--width", v.width, "may be missing").needs(flag);
  flags.add("--colour", v.colour, {{"red", Colour::red}, {"green", Colour::green}}, "of the paint");
  std::ostringstream out;
  try {
    line.run(words, out);
  } catch (const Error& error) {
    parsed.error = error.what();
  }
  parsed.out = out.str();
  return parsed;
}

std::string error_of(std::vector<std::string> words) {
  words.insert(words.begin(), "run");
  return parse(words).error;
}

TEST(Flags, FillVariables) {
  const Parsed parsed = parse({"run",
                               "x",
                               "y",
                               "--text",
                               "",
                               "--task",
                               "copy",
                               "--small",
                               "-3",
                               "--number",
                               "-7",
                               "--seed",
                               "18446744073709551615",
                               "--ratio",
                               "0.25",
                               "--exact",
                               "1e-3",
                               "--flag",
                               "--no-norm",
                               "--width",
                               "4",
                               "--colour",
                               "red"});
  ASSERT_EQ(parsed.error, "");
  const Variables& v = parsed.variables;
  EXPECT_EQ(v.list, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(v.text, "");
  EXPECT_EQ(v.task, "copy");
  EXPECT_EQ(v.small, -3);
  EXPECT_EQ(v.number, -7);
  EXPECT_EQ(v.seed, UINT64_MAX);
  EXPECT_EQ(v.ratio, 0.25f);
  EXPECT_EQ(v.exact, 1e-3);
  EXPECT_TRUE(v.flag);
  EXPECT_FALSE(v.norm);
  EXPECT_EQ(v.width, 4);
  EXPECT_EQ(v.colour, Colour::red);
}

TEST(Flags, TheLastOfTwoCountsAndListsCollect) {
  const Parsed parsed = parse({"run", "--number", "1", "--number", "2", "--once", "a", "x", "--once", "b", "--norm"});
  ASSERT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.variables.number, 2);
  EXPECT_EQ(parsed.variables.once, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(parsed.variables.list, (std::vector<std::string>{"x"}));
  EXPECT_TRUE(parsed.variables.norm);
}

TEST(Flags, ErrorsSayWhatIsTaken) {
  EXPECT_EQ(error_of({"--task", "swim"}), "--task takes copy, reverse or sort, not 'swim' (see test run --help)");
  EXPECT_EQ(error_of({"--colour", "blue"}), "--colour takes red or green, not 'blue' (see test run --help)");
  EXPECT_EQ(error_of({"--small", "6"}), "--small takes -3 to 5, not 6 (see test run --help)");
  EXPECT_EQ(error_of({"--number", "99999999999999999999"}),
            "--number: 99999999999999999999 is out of range (see test run --help)");
  for (const std::string word : {"", "x", "1x", "1.5", "0x10", " 1", "--", "1e3"})
    EXPECT_EQ(error_of({"--number=" + word}).find("--number"), 0u) << word;
  for (const std::string word : {"", "nan", "inf", "1,5", "1e999"})
    EXPECT_EQ(error_of({"--exact=" + word}).find("--exact"), 0u) << word;
  EXPECT_NE(error_of({"--seed", "-1"}), "");
  EXPECT_NE(error_of({"--width", "1"}), "");  // without --flag
  EXPECT_NE(error_of({"--nonsense"}), "");
}

// Letter by letter, since releases of CLI11 differ in it.
TEST(Flags, HelpIsLaidOutHere) {
  cli::CommandLine line({.name = "test", .help = "Tests."}, [] { return std::string("test 1"); });
  cli::Flags program = line.flags();
  Variables v;
  cli::Flags flags = program.command({.name = "run", .help = "Runs."}, [] {});
  flags.add("files", v.list, "by their place").required();
  flags.add("--small", v.small, "fits an int").between(-3, 5);
  const cli::Flag flag = flags.add("--flag", v.flag, "on or off");
  flags.add("--a-name-that-is-long", v.text, "of any kind").needs(flag);
  flags.add("--width", v.width, "may be missing").required();
  program.command({.name = "walk", .help = "Walks.", .examples = "Examples: none"}, [] {});
  std::ostringstream run, walk, all;
  line.run({"run", "--help"}, run);
  line.run({"walk", "--help"}, walk);
  line.run({"--help"}, all);
  EXPECT_EQ(run.str(), R"(Runs.
Usage: test run [OPTIONS] files...

Positionals:
  files TEXT ... REQUIRED         by their place

Options:
  -h,--help                       Print this help message and exit
  --small INT=1                   fits an int
  --flag                          on or off
  --a-name-that-is-long TEXT=a b Needs: --flag
                                  of any kind
  --width INT REQUIRED            may be missing
)");
  EXPECT_EQ(walk.str(), R"(Walks.
Usage: test walk [OPTIONS]

Options:
  -h,--help                       Print this help message and exit

Examples: none
)");
  EXPECT_EQ(all.str(), R"(Tests.
Usage: test [OPTIONS] [SUBCOMMAND]

Options:
  -h,--help                       Print this help message and exit
  --version                       Display program version information and exit

Subcommands:
  run                             Runs.
  walk                            Walks.
)");
}

TEST(Flags, HelpShowsDefaults) {
  const std::string help = parse({"run", "--help"}).out;
  for (const char* part : {"--ratio FLOAT=0.1 ", "--exact FLOAT=1e-09 ", "--task TEXT=sort ", "--norm,--no-norm ",
                           "--width INT ", "--colour TEXT=green ", "More:", "Examples: none"})
    EXPECT_NE(help.find(part), std::string::npos) << part << help;
  EXPECT_EQ(parse({"--version"}).out, "test 1\n");
}

}  // namespace
}  // namespace attend
