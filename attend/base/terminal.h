// What an output stream is connected to: decides redrawing, colour and width. Filled by terminal_of() for a real
// file descriptor; tests and files use the default, which is no terminal at all.
#pragma once

namespace attend {

struct Terminal {
  bool interactive = false;  // a person sees it: lines may be redrawn
  bool color = false;        // interactive, and neither NO_COLOR nor TERM=dumb is set
  int width = 80;            // columns
};

Terminal terminal_of(int descriptor);

}  // namespace attend
