// Words on the command line become variables, or an error that says what is taken instead.
#include "attend/cli/support/flags.h"

#include <gtest/gtest.h>

#include <sstream>

#include "attend/base/error.h"
#include "tests/cli/run_attend.h"

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
  cli::Flags flags = program.command({.name = "run", .help = "Runs.", .examples = "test run x # a comment"}, [] {});
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

struct Help {
  std::string run, walk, all;
};

Help help_at(int width, bool bold = false) {
  cli::CommandLine line({.name = "test", .help = "Tests."}, [] { return std::string("test 1"); });
  cli::Flags program = line.flags();
  Variables v;
  program.begin_group("Move");
  cli::Flags flags = program.command({.name = "run",
                                      .help = "Runs.",
                                      .examples = "test run a # the first\ntest run a b\ntest run c # the third\n"
                                                  "test run d # a fourth, at the end",
                                      .notes = {"A note that closes the page, and that is long enough to need more "
                                                "than one line of a narrow terminal."}},
                                     [] {});
  flags.add("files", v.list, "Input files.").required();
  flags.add("--small", v.small, "Number of small things.").between(-3, 5);
  const cli::Flag flag = flags.add("--flag", v.flag, "Turn it on.");
  flags.add("--a-name-that-is-longer-than-most", v.text, "Any text.").needs(flag);
  flags.add("--width", v.width, "Width of the result.").required();
  flags.add("--task", v.task, "Task to run.").one_of({"copy", "reverse", "sort"}).group("Training");
  flags.add("--colour", v.colour, {{"red", Colour::red}, {"green", Colour::green}}, "Colour: red or green.");
  flags.add("--norm,!--no-norm", v.norm, "Normalise.").group("Model");
  flags.add("--hidden", v.text, "Not shown.").group("");
  flags.add("--device", v.text, "A description that is long enough to be wrapped at eighty columns, but not at more.");
  program.begin_group("Rest");
  program.command({.name = "walk", .help = "Walks."}, [] {});
  std::ostringstream run, walk, all;
  const cli::HelpStyle style{.width = width, .bold = bold};
  line.run({"run", "--help"}, run, style);
  line.run({"walk", "--help"}, walk, style);
  line.run({"--help"}, all, style);
  return {run.str(), walk.str(), all.str()};
}

// Letter by letter, since what CLI11 prints differs between its releases.
TEST(Flags, HelpIsLaidOutHere) {
  const Help help = help_at(80);
  EXPECT_EQ(help.run, R"(Runs.

Usage: test run [OPTIONS] FILES...

Examples:
  test run a  # the first
  test run a b
  test run c  # the third

Arguments:
  FILES...           Input files. [required]

Model:
  --norm, --no-norm  Normalise. [default: on]

Options:
  --small INT        Number of small things. [default: 1]
  --flag             Turn it on.
  --a-name-that-is-longer-than-most TEXT
                     Any text. [default: a b] [needs: --flag]
  --width INT        Width of the result. [required]
  --colour NAME      Colour: red or green. [default: green]

Training:
  --task NAME        Task to run. [choices: copy, reverse, sort] [default: sort]

Performance:
  --device NAME      A description that is long enough to be wrapped at eighty
                     columns, but not at more. [default: a b]

Other:
  -h, --help         Print help.

More examples:
  test run d  # a fourth, at the end

A note that closes the page, and that is long enough to need more than one line
of a narrow terminal.
)");
  EXPECT_EQ(help.walk, R"(Walks.

Usage: test walk [OPTIONS]

Options:
  -h, --help  Print help.
)");
  EXPECT_EQ(help.all, R"(Tests.

Usage: test COMMAND [OPTIONS]

Move:
  run         Runs.

Rest:
  walk        Walks.

Options:
  -h, --help  Print help.
  --version   Print the version.
)");
}

TEST(Flags, HelpUsesAWideTerminal) {
  const std::string wide = help_at(120).run;
  for (const char* line :
       {"\n  --device NAME      A description that is long enough to be wrapped at eighty columns, but not at more. "
        "[default: a b]\n",
        "\nA note that closes the page, and that is long enough to need more than one line of a narrow terminal.\n"})
    EXPECT_NE(wide.find(line), std::string::npos) << line << wide;
  EXPECT_EQ(wide.find('\x1b'), std::string::npos);
  EXPECT_NE(help_at(120, true).run.find("\x1b[1mModel:\x1b[0m\n"), std::string::npos);
}

// What completions, manual pages and tools/check-docs read.
TEST(Flags, HelpIsDataToo) {
  const cli::HelpPage page = cli::read_help_page(parse({"run", "--help-json"}).out);
  EXPECT_EQ(page.usage, "test run [OPTIONS] [FILES]...");
  ASSERT_EQ(page.examples.size(), 1u);
  EXPECT_EQ(page.examples[0].command, "test run x");
  EXPECT_EQ(page.examples[0].comment, "a comment");
  ASSERT_EQ(page.arguments.size(), 1u);
  EXPECT_TRUE(page.arguments[0].repeats);
  const auto flag = [&](const std::string& name) {
    for (const cli::HelpEntry& entry : page.flags)
      if (entry.names.front() == name) return entry;
    ADD_FAILURE() << name;
    return cli::HelpEntry{.names = {}};
  };
  EXPECT_EQ(flag("--task").choices, (std::vector<std::string>{"copy", "reverse", "sort"}));
  EXPECT_EQ(flag("--task").default_value, "sort");
  EXPECT_EQ(flag("--norm").names, (std::vector<std::string>{"--norm", "--no-norm"}));
  EXPECT_EQ(flag("--norm").value, "");
  EXPECT_EQ(flag("--norm").group, "More");
  EXPECT_EQ(flag("--width").needs, (std::vector<std::string>{"--flag"}));
  EXPECT_EQ(flag("--seed").value, "INT");
  EXPECT_FALSE(flag("--once").repeats);
}

// Every flag that takes a file says so, and not that it takes text.
TEST(Flags, HelpNamesValues) {
  const auto value = [](const std::vector<std::string>& words, const std::string& flag) {
    std::vector<std::string> all = words;
    all.emplace_back("--help-json");
    for (const cli::HelpEntry& entry : cli::read_help_page(test::run_attend(all).out).flags)
      if (entry.names.front() == flag) return entry.value;
    return "no " + flag;
  };
  EXPECT_EQ(value({"look"}, "--png"), "FILE");
  EXPECT_EQ(value({"look"}, "--model"), "FOLDER");
  EXPECT_EQ(value({"look"}, "--text"), "TEXT");
  EXPECT_EQ(value({"look"}, "--dtype"), "NAME");
  EXPECT_EQ(value({"make-data"}, "--out"), "FOLDER");
  EXPECT_EQ(value({"train", "--task", "masked-lm"}, "--text"), "FILE");
  EXPECT_EQ(value({"train", "--task", "masked-lm"}, "--model"), "NAME");
  EXPECT_EQ(value({"train"}, "--out"), "FOLDER");
  EXPECT_EQ(value({"train"}, "--steps"), "INT");
}

TEST(Flags, HelpShowsDefaults) {
  const std::string help = parse({"run", "--help"}).out;
  for (const char* part :
       {"--ratio FLOAT      of both [default: 0.1]\n", "--exact FLOAT      in full [default: 1e-09]\n",
        "[default: sort]\n", "--norm, --no-norm  can be turned off [default: on]\n",
        "--width INT        may be missing [needs: --flag]\n", "[default: green]\n", "\nMore:\n",
        "\nExamples:\n  test run x  # a comment\n"})
    EXPECT_NE(help.find(part), std::string::npos) << part << help;
  EXPECT_EQ(parse({"--version"}).out, "test 1\n");
}

}  // namespace
}  // namespace attend
