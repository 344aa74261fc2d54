// Sums by NCCL, by way of the plugin libattend_nccl.so.
#pragma once

#include <memory>

#include "attend/world/device_sums.h"

namespace attend::world {

// Null where there is no stream, or no NCCL (then sums go through the host's memory), and in a world of one unless
// ATTEND_NCCL=1 asks for it. ATTEND_NCCL=0: never. Throws Error when it was asked for and is not there, and when some
// ranks have it and others do not.
std::unique_ptr<DeviceSums> open_nccl(World& world, const DeviceQueue& queue);

}  // namespace attend::world
