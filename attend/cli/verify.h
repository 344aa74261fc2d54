// attend verify: whether a model computes here what it computed elsewhere.
#pragma once

#include "attend/cli/command.h"

namespace attend {

void add_verify_command(CLI::App& app, const Streams& streams);

}  // namespace attend
