// attend evaluate: how good a classifier's labels are.
#pragma once

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;
void add_evaluate_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
