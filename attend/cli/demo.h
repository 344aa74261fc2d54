// attend demo: what this program does, in front of you.
#pragma once

#include "attend/cli/streams.h"

namespace attend {

class Flags;

void add_demo_command(Flags& program, const Streams& streams);

}  // namespace attend
