// Commands that are printed run when somebody pastes them into a shell: each is on a line of its own, behind two spaces
// and with nothing behind it, names of files are quoted, and the program is called as it was.
#pragma once

#include <string>
#include <string_view>

namespace attend::cli {

// The text as a shell reads it as one word: runs/dates, 'my run', 'it'\''s'.
std::string shell_word(std::string_view text);

// A command with such a word in every place of a name: "attend look --model {out}".
std::string with_word(std::string command, std::string_view name, std::string_view text);

// Lines of which some are commands, "  attend .." or "  echo .. | attend ..", as the program was called: build/attend.
std::string called_as(std::string_view program, std::string_view lines);

}  // namespace attend::cli
