// Which batches of the one order a process takes, where several learn together: of every `size` in a row number `rank`.
// Positions that are saved are those between such rounds, so that a run goes on with any other number of processes.
#pragma once

#include <cstdint>

namespace attend::data {

struct Shard {
  std::uint64_t rank = 0, size = 1;
};

}  // namespace attend::data
