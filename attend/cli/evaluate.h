// attend evaluate: how good a classifier's labels are.
#pragma once

#include "attend/cli/streams.h"

namespace attend {

class Flags;
void add_evaluate_command(Flags& program, const Streams& streams);

}  // namespace attend
