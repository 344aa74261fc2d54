// How a command joins the program. A command is a struct of options, a list of its flags and a function that works on
// streams, so that tests run it without a process:
//
//   struct DemoOptions { int steps = 400; };
//   void run_demo(const DemoOptions& options, const Streams& streams);      // throws Error when it cannot
//
//   void add_demo_command(CLI::App& app, const Streams& streams) {
//     add_command<DemoOptions>(app, streams, {.name = "demo", .help = "Learns to reverse digits."},
//                              [](CLI::App& flags, DemoOptions& options) {
//                                flags.add_option("--steps", options.steps, "training steps")->capture_default_str();
//                              }, run_demo);
//   }
//
// and one line in program.cpp calls add_demo_command.
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>

#include "attend/base/terminal.h"

namespace attend {

// Where a command reads and writes. Results go to out; progress and messages for a person go to err.
struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  Terminal out_terminal = {}, err_terminal = {};
};

struct CommandName {
  std::string name, help;
  std::string examples = {};  // printed under the flags in --help
};

// list_flags(CLI::App&, Options&) names the flags; run(const Options&, const Streams&) does the work after parsing.
template <class Options, class ListFlags, class Run>
CLI::App& add_command(CLI::App& app, const Streams& streams, const CommandName& name, ListFlags list_flags, Run run) {
  CLI::App& command = *app.add_subcommand(name.name, name.help);
  if (!name.examples.empty()) command.footer(name.examples);
  auto options = std::make_shared<Options>();
  list_flags(command, *options);
  command.callback([options, streams, run = std::move(run)] { run(*options, streams); });
  return command;
}

}  // namespace attend
