// attend completions and attend manual: what shells and man know of the program, read off its own help, so that no flag
// is listed twice.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attend/cli/support/flags.h"
#include "attend/cli/support/streams.h"

namespace attend::cli {

struct HelpEntry {
  std::string name;   // "--beams", "-h,--help", "files", or a command's
  std::string value;  // "INT=4"; empty: it takes none
  std::string text;
};

// One page of help, taken apart.
struct HelpPage {
  std::string summary, usage, examples;
  std::vector<HelpEntry> places, flags, commands;
};
HelpPage read_help(std::string_view text);

struct DocumentOptions {
  std::string shell;  // of completions: bash, zsh or fish
  std::string out;    // completions: a file; manual: a folder for all pages. Standard output if not given
};

void add_completions_command(Flags& program, const Streams& streams);
void add_manual_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
