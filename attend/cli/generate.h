// attend generate: text that goes on where a prompt ends. attend perplexity: how well a model predicts a text.
#pragma once

#include "attend/cli/streams.h"

namespace attend {

class Flags;

void add_generate_command(Flags& program, const Streams& streams);
void add_perplexity_command(Flags& program, const Streams& streams);

}  // namespace attend
