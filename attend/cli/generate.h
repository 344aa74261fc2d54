// attend generate: text that goes on where a prompt ends. attend perplexity: how well a model predicts a text.
#pragma once

#include "attend/cli/command.h"

namespace attend {

void add_generate_command(CLI::App& app, const Streams& streams);
void add_perplexity_command(CLI::App& app, const Streams& streams);

}  // namespace attend
