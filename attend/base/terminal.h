// What an output stream is connected to: decides redrawing, colour and width. Filled by terminal_of() for a real
// file descriptor; tests and files use the default, which is no terminal at all.
#pragma once

#include <string>
#include <string_view>

namespace attend {

struct Terminal {
  bool interactive = false;  // a person sees it: lines may be redrawn
  bool color = false;        // interactive, and neither NO_COLOR nor TERM=dumb is set
  int width = 80;            // columns
};

Terminal terminal_of(int descriptor);

// Text of a file (a name, a label, a message about them) for one line of a terminal: control characters, which could
// move the cursor or hide what was printed, and bytes that are no UTF-8 are written as \x1b, \n, \u202e.
std::string printable(std::string_view text);

}  // namespace attend
