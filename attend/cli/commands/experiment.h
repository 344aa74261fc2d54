// attend experiment: small experiments behind the formulas of the lectures (docs/lectures.md).
#pragma once

#include "attend/cli/support/flags.h"
#include "attend/cli/support/streams.h"

namespace attend::cli {

void add_experiment_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
