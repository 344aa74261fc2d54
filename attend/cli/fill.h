// attend fill: what stands behind a mask.
#pragma once

#include "attend/cli/streams.h"

namespace attend {

class Flags;

void add_fill_command(Flags& program, const Streams& streams);

}  // namespace attend
