// attend convert: a model folder or a file of weights as safetensors, or in another number format.
#pragma once

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

void add_convert_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
