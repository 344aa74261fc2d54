// attend fill: what stands behind a mask.
#pragma once

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

void add_fill_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
