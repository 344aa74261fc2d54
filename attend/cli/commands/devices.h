// attend devices: what this machine and this build can compute with.
#pragma once

#include <cstddef>

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

struct DevicesOptions {};

// Bytes of this machine's memory; 0: unknown.
std::size_t total_memory();

void run_devices(const DevicesOptions& options, const Streams& streams);
void add_devices_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
