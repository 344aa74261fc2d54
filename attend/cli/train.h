#pragma once

#include "attend/cli/command.h"

namespace attend {

void add_train_command(CLI::App& app, const Streams& streams);

}  // namespace attend
