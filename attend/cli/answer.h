// attend answer: where in a text the answer to a question is.
#pragma once

#include "attend/cli/command.h"

namespace attend {

void add_answer_command(CLI::App& app, const Streams& streams);

}  // namespace attend
