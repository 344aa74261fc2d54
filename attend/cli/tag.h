// attend tag: a label for each word.
#pragma once

#include "attend/cli/streams.h"

namespace attend {

class Flags;

void add_tag_command(Flags& program, const Streams& streams);

}  // namespace attend
