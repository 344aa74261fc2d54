// attend demo: what this program does, in front of you.
#pragma once

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

void add_demo_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
