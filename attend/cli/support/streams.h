// Where a command reads and writes. Results go to out; progress and messages for a person go to err.
#pragma once

#include <iosfwd>
#include <string>

#include "attend/base/terminal.h"
#include "attend/world/world.h"

namespace attend::cli {

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  Terminal out_terminal = {}, err_terminal = {};
  world::World* world = &world::alone();  // the processes that a launcher (mpirun) started together
  std::string program = "attend";         // as it was called: what commands that are printed begin with
};

}  // namespace attend::cli
