// attend info: what is in a model folder, without running it.
#pragma once

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

void add_info_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
