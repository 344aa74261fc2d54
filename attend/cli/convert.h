// attend convert: a model folder or a file of weights as safetensors, or in another number format.
#pragma once

#include "attend/cli/streams.h"

namespace attend {

class Flags;

void add_convert_command(Flags& program, const Streams& streams);

}  // namespace attend
