// attend embed: a vector for each line.
#pragma once

#include "attend/cli/streams.h"

namespace attend {

class Flags;

void add_embed_command(Flags& program, const Streams& streams);

}  // namespace attend
