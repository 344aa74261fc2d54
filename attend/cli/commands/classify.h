// attend classify: a label for each line.
#pragma once

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

void add_classify_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
