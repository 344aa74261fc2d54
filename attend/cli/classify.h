// attend classify: a label for each line.
#pragma once

#include "attend/cli/streams.h"

namespace attend {

class Flags;

void add_classify_command(Flags& program, const Streams& streams);

}  // namespace attend
