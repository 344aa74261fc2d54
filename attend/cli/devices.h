// attend devices: what this machine and this build can compute with.
#pragma once

#include "attend/cli/streams.h"

namespace attend {

class Flags;

struct DevicesOptions {};

void run_devices(const DevicesOptions& options, const Streams& streams);
void add_devices_command(Flags& program, const Streams& streams);

}  // namespace attend
