#include "attend/device.h"

#include "attend/backends.h"

namespace attend {

Device::Device(std::string_view name, const BackendOptions& options) : backend_(open_backend(name, options)) {}

}  // namespace attend
