// attend demo: trains a small Transformer and shows what it attends to.
#pragma once

#include "attend/cli/command.h"

namespace attend {

void add_demo_command(CLI::App& app, const Streams& streams);

}  // namespace attend
