// attend data: commands about data sets, "attend data report" and its like.
#pragma once

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

void add_data_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
