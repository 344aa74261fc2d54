// attend experiment reach, layers, gradients, recall and speed: small networks of the lectures, side by side.
#pragma once

#include "attend/cli/support/flags.h"
#include "attend/cli/support/streams.h"

namespace attend::cli {

void add_network_experiments(Flags& group, const Streams& streams);

}  // namespace attend::cli
