// attend: trains, runs and shows Transformers.
#include <unistd.h>

#include <iostream>

#include "attend/cli/program.h"

int main(int count, char** words) {
  const attend::Streams streams{.in = std::cin,
                                .out = std::cout,
                                .err = std::cerr,
                                .out_terminal = attend::terminal_of(STDOUT_FILENO),
                                .err_terminal = attend::terminal_of(STDERR_FILENO)};
  return attend::run_program({words + 1, words + count}, streams);
}
