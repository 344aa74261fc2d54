// attend detect: boxes around what is in images.
#pragma once

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

void add_detect_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
