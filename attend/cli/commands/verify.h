// attend verify: whether a model computes here what it computed elsewhere.
#pragma once

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

void add_verify_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
