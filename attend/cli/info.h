// attend info: what is in a model folder, without running it.
#pragma once

#include "attend/cli/command.h"

namespace attend {

void add_info_command(CLI::App& app, const Streams& streams);

}  // namespace attend
