// attend fill: what stands behind a mask.
#pragma once

#include "attend/cli/command.h"

namespace attend {

void add_fill_command(CLI::App& app, const Streams& streams);

}  // namespace attend
