// The whole program as a function: attend ARGS.. on the given streams. Returns the exit code: 0, or 1 after printing
// "attend: <message>" on streams.err.
#pragma once

#include <string>
#include <vector>

#include "attend/cli/streams.h"

namespace attend {

int run_program(const std::vector<std::string>& args, const Streams& streams);

}  // namespace attend
