// The whole program as a function: attend ARGS.. on the given streams. Returns the exit code: 0, or 1 after printing
// "attend: <message>" on streams.err.
#pragma once

#include <string>
#include <vector>

#include "attend/cli/support/streams.h"

namespace attend::cli {

int run_program(const std::vector<std::string>& args, const Streams& streams);

}  // namespace attend::cli
