// How a command joins the program. A command is a struct of options, a list of its flags and a function that works on
// streams, so that tests run it without a process:
//
//   struct DemoOptions { int steps = 400; };
//   void run_demo(const DemoOptions& options, const Streams& streams);      // throws Error when it cannot
//
//   void add_demo_command(Flags& program, const Streams& streams) {
//     add_command<DemoOptions>(program, streams, {.name = "demo", .help = "Learns to reverse digits."},
//                              [](Flags& flags, DemoOptions& options) {
//                                flags.add("--steps", options.steps, "training steps");
//                              }, run_demo);
//   }
//
// and one line in program.cpp calls add_demo_command.
#pragma once

#include <memory>
#include <utility>

#include "attend/cli/support/flags.h"
#include "attend/cli/support/streams.h"

namespace attend::cli {

// list_flags(Flags&, Options&) names the flags; run(const Options&, const Streams&) does the work after parsing.
template <class Options, class ListFlags, class Run>
void add_command(Flags& program, const Streams& streams, const CommandName& name, ListFlags list_flags, Run run) {
  auto options = std::make_shared<Options>();
  Flags flags = program.command(name, [options, streams, run = std::move(run)] { run(*options, streams); });
  list_flags(flags, *options);
}

}  // namespace attend::cli
