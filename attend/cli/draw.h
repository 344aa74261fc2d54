// attend draw: pictures of a class, from noise.
#pragma once

#include "attend/cli/streams.h"

namespace attend {

class Flags;

void add_draw_command(Flags& program, const Streams& streams);

}  // namespace attend
