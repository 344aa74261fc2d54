// attend lab: exercises that check themselves. The labs, and the program that checks them, are the files of labs/.
#pragma once

#include "attend/cli/support/flags.h"
#include "attend/cli/support/streams.h"

namespace attend::cli {

void add_lab_command(Flags program, const Streams& streams);

}  // namespace attend::cli
