// attend tag: a label for each word.
#pragma once

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

void add_tag_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
