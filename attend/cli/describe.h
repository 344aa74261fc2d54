// attend describe: a sentence about each picture, and where the model looked for each of its words.
#pragma once

#include "attend/cli/streams.h"

namespace attend {

class Flags;

void add_describe_command(Flags& program, const Streams& streams);

}  // namespace attend
