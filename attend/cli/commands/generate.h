// attend generate: text that goes on where a prompt ends. attend perplexity: how well a model predicts a text.
#pragma once

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

void add_generate_command(Flags& program, const Streams& streams);
void add_perplexity_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
