// attend devices: what this machine and this build can compute with.
#pragma once

#include "attend/cli/command.h"

namespace attend {

struct DevicesOptions {};

void run_devices(const DevicesOptions& options, const Streams& streams);
void add_devices_command(CLI::App& app, const Streams& streams);

}  // namespace attend
