// A world over MPI, by way of the plugin libattend_mpi.so, which is opened only when it is asked for.
#pragma once

#include <memory>

#include "attend/world/world.h"

namespace attend::world {

// How many processes a launcher (mpirun, srun) has started this as one of; 1: none did, or it is said not to matter.
// ATTEND_WORLD=alone and ATTEND_WORLD=mpi overrule what is found.
struct Launch {
  bool together = false;
  std::string by = {};  // the variable that says so, for messages
};
Launch launched();

// Null where this process was started alone. Throws Error when it was started as one of several and MPI is not there.
std::unique_ptr<World> open_world();

}  // namespace attend::world
