// attend: trains, runs and shows Transformers.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "attend/base/error.h"
#include "attend/base/os.h"
#include "attend/cli/program.h"
#include "attend/world/mpi/mpi_world.h"

int main(int count, char** words) {
  std::int64_t calls = 0;
  std::optional<attend::os::FaultInjection> faults;
  if (auto fault = attend::os::fault_from(std::getenv("ATTEND_FAULT"), calls)) faults.emplace(std::move(fault));
  std::unique_ptr<attend::world::World> world;  // with others, where a launcher started several
  try {
    world = attend::world::open_world();
  } catch (const attend::Error& error) {
    std::cerr << "attend: " << error.what() << '\n';
    return 1;
  }
  // One that a shell found by its name is found again.
  const std::string called = count > 0 ? words[0] : "attend";
  const attend::cli::Streams streams{.in = std::cin,
                                     .out = std::cout,
                                     .err = std::cerr,
                                     .out_terminal = attend::terminal_of(STDOUT_FILENO),
                                     .err_terminal = attend::terminal_of(STDERR_FILENO),
                                     .world = world ? world.get() : &attend::world::alone(),
                                     .program = called.find('/') == std::string::npos ? "attend" : called};
  const int code = attend::cli::run_program({words + 1, words + count}, streams);
  if (faults) std::cerr << "attend: " << calls << " calls on files\n";
  const bool together = code == 0 || code > 128;  // also those that were interrupted end at the same step
  if (world && together) world->finish();
  if (world && !together) world->abandon(code);
  return code;
}
