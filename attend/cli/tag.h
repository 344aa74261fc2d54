// attend tag: a label for each word.
#pragma once

#include "attend/cli/command.h"

namespace attend {

void add_tag_command(CLI::App& app, const Streams& streams);

}  // namespace attend
