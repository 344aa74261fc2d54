// attend demo: what this program does, in front of you.
#pragma once

#include "attend/cli/command.h"

namespace attend {

void add_demo_command(CLI::App& app, const Streams& streams);

}  // namespace attend
