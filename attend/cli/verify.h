// attend verify: whether a model computes here what it computed elsewhere.
#pragma once

#include "attend/cli/streams.h"

namespace attend {

class Flags;

void add_verify_command(Flags& program, const Streams& streams);

}  // namespace attend
