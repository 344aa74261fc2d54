// Where a command reads and writes. Results go to out; progress and messages for a person go to err.
#pragma once

#include <iosfwd>

#include "attend/base/terminal.h"

namespace attend {

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  Terminal out_terminal = {}, err_terminal = {};
};

}  // namespace attend
