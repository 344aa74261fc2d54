// attend: trains, runs and shows Transformers.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <optional>

#include "attend/base/os.h"
#include "attend/cli/program.h"

int main(int count, char** words) {
  std::int64_t calls = 0;
  std::optional<attend::os::FaultInjection> faults;
  if (auto fault = attend::os::fault_from(std::getenv("ATTEND_FAULT"), calls)) faults.emplace(std::move(fault));
  const attend::Streams streams{.in = std::cin,
                                .out = std::cout,
                                .err = std::cerr,
                                .out_terminal = attend::terminal_of(STDOUT_FILENO),
                                .err_terminal = attend::terminal_of(STDERR_FILENO)};
  const int code = attend::run_program({words + 1, words + count}, streams);
  if (faults) std::cerr << "attend: " << calls << " calls on files\n";
  return code;
}
