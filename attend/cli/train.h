#pragma once

#include "attend/cli/streams.h"

namespace attend {

class Flags;

void add_train_command(Flags& program, const Streams& streams);

}  // namespace attend
