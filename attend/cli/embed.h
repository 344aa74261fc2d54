// attend embed: a vector for each line.
#pragma once

#include "attend/cli/command.h"

namespace attend {

void add_embed_command(CLI::App& app, const Streams& streams);

}  // namespace attend
