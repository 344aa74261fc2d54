// attend convert: a model folder in another number format.
#pragma once

#include "attend/cli/command.h"

namespace attend {

void add_convert_command(CLI::App& app, const Streams& streams);

}  // namespace attend
