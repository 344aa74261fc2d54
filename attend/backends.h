// Opens a device by name, for the library's own code; programs hold a Device (device.h).
#pragma once

#include <memory>
#include <string_view>

#include "attend/device.h"
#include "attend/tensor/backend.h"

namespace attend {

// "cpu", "cuda" or "gpu" (the first GPU) or "cuda:1". Throws Error when the name is none of these, when this build has
// no CUDA, and when there is no such GPU.
std::unique_ptr<Backend> open_backend(std::string_view name, const BackendOptions& options = {});

}  // namespace attend
