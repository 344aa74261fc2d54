// attend attention: the formula of attention on numbers that the user types, step by step.
#pragma once

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

void add_attention_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
