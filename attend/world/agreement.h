// What all ranks have to be told alike before they work together: one that has another --batch, or another file under
// the same name, would compute something else in silence, or send messages that nobody waits for.
#pragma once

#include <string>

#include "attend/base/json.h"
#include "attend/world/world.h"

namespace attend::world {

// The first thing in which two objects differ, with their values and whose they are: "batch is 8 for rank 1, but 4 for
// rank 0"; empty when there is none. A value that only one has is null in the other.
struct RankSettings {
  const Json& settings;
  std::string by;
};
std::string first_difference(const RankSettings& one, const RankSettings& other);

// Throws an Error, the same on every rank, when the objects are not the same everywhere.
void check_agreement(World& world, const Json& settings);

}  // namespace attend::world
