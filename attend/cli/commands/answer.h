// attend answer: where in a text the answer to a question is.
#pragma once

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

void add_answer_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
