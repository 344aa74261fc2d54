// attend classify: a label for each line.
#pragma once

#include "attend/cli/command.h"

namespace attend {

void add_classify_command(CLI::App& app, const Streams& streams);

}  // namespace attend
