// attend draw: images of a class, from noise.
#pragma once

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

void add_draw_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
