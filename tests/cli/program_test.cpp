// The program without a process: what it prints, where, and the exit code.
#include "attend/cli/program.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/cli/support/command.h"
#include "attend/http/http.h"
#include "tests/cli/run_attend.h"

namespace attend {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Program, HelpListsCommandsAndExamples) {
  for (const auto& args : std::vector<std::vector<std::string>>{{"--help"}, {"-h"}, {}}) {
    const test::Outcome result = test::run_attend(args);
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.err, "");
    EXPECT_TRUE(has(result.out, "devices")) << result.out;
    EXPECT_TRUE(has(result.out, "demo"));
    EXPECT_TRUE(has(result.out, "Examples:"));
  }
}

TEST(Program, VersionSaysWhatItIs) {
  const test::Outcome result = test::run_attend({"--version"});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(has(result.out, "attend 0.")) << result.out;
  EXPECT_TRUE(has(result.out, built_with_cuda() ? "CUDA" : "no CUDA"));
}

TEST(Program, DevicesShowsTheCpu) {
  const test::Outcome result = test::run_attend({"devices"});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* word : {"cpu", "features", "threads", "memory", "cuda", "build"})
    EXPECT_TRUE(has(result.out, word)) << result.out;
}

TEST(Program, BadUsageIsOneLineAndExitCodeOne) {
  for (const auto& args : std::vector<std::vector<std::string>>{
           {"nonsense"}, {"--nonsense"}, {"devices", "extra"}, {"devices", "--nonsense"}, {"devices", "demo"}}) {
    const test::Outcome result = test::run_attend(args);
    EXPECT_EQ(result.code, 1) << args[0];
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err.find("attend: "), 0u) << result.err;
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  }
}

TEST(Program, AMistypedCommandIsAskedFor) {
  EXPECT_EQ(test::run_attend({"trian", "--steps", "3"}).err,
            "attend: there is no command 'trian'; did you mean 'train'? (see attend --help)\n");
  EXPECT_TRUE(has(test::run_attend({"makedata"}).err, "did you mean 'make-data'?"));
  EXPECT_EQ(test::run_attend({"xxxxxxxxxxxx"}).err, "attend: there is no command 'xxxxxxxxxxxx' (see attend --help)\n");
}

TEST(Program, ABusyPortSaysHowToTakeAnother) {
  const auto answer = [](const http::Request&) { return http::Response{}; };
  const http::Server first({.port = 0}, answer);
  try {
    const http::Server second({.port = first.port()}, answer);
    FAIL() << "both listen";
  } catch (const Error& error) {
    EXPECT_TRUE(has(error.what(), "--port 0 takes any free one")) << error.what();
  }
}

TEST(Program, AFullDiskIsAnError) {
  std::istringstream in;
  std::ostringstream out, err;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(cli::run_program({"devices"}, {.in = in, .out = out, .err = err}), 1);
  EXPECT_EQ(err.str(), "attend: cannot write the output\n");
}

struct EchoOptions {
  std::string text = "nothing";
  bool fails = false;
};

void run_echo(const EchoOptions& options, const cli::Streams& streams) {
  check(!options.fails, "echo: was told to fail");
  streams.out << options.text;
}

TEST(Command, ParsesIntoItsOptionsAndRuns) {
  std::istringstream in;
  std::ostringstream out, err;
  cli::CommandLine line({.name = "test", .help = "Tests."}, [] { return std::string("1"); });
  cli::Flags program = line.flags();
  cli::add_command<EchoOptions>(
      program, {.in = in, .out = out, .err = err}, {.name = "echo", .help = "Echoes.", .examples = "test echo"},
      [](cli::Flags& flags, EchoOptions& options) {
        flags.add("--text", options.text, "what to say");
        flags.add("--fail", options.fails, "throws");
      },
      run_echo);
  line.run({"echo", "--text", "hello"}, out);
  EXPECT_EQ(out.str(), "hello");
  EXPECT_THROW(line.run({"echo", "--fail"}, out), Error);
}

}  // namespace
}  // namespace attend
