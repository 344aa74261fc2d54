// attend completions and attend manual: shell completions and manual pages, made from the pages of --help, so that no
// flag is listed twice.
#pragma once

#include <string>

#include "attend/cli/support/flags.h"
#include "attend/cli/support/streams.h"

namespace attend::cli {

struct DocumentOptions {
  std::string shell;  // of completions: bash, zsh or fish
  std::string out;    // completions: a file; manual: a folder for all pages. Standard output if not given
};

void add_completions_command(Flags& program, const Streams& streams);
void add_manual_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
