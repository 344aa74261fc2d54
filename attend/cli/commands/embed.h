// attend embed: a vector for each line.
#pragma once

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

void add_embed_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
