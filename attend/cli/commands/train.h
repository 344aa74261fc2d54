#pragma once

#include <string>
#include <vector>

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

// words: the whole command line, for --help, which shows the flags of the task that is named there.
void add_train_command(Flags& program, const Streams& streams, const std::vector<std::string>& words);

}  // namespace attend::cli
