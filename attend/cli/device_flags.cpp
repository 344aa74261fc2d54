#include "attend/cli/device_flags.h"

#include "attend/backends.h"
#include "attend/cli/flags.h"

namespace attend {

std::unique_ptr<Backend> DeviceFlags::open() const { return open_backend(device, {.threads = threads}); }

void add_device_flags(Flags& flags, DeviceFlags& options) {
  flags.add("--device", options.device, "cpu, cuda or cuda:N");
  flags.add("--dtype", options.dtype, "f32, or bf16: half the memory, and faster where the device has it")
      .one_of({"f32", "bf16"});
  flags.add("--threads", options.threads, "CPU threads, 0 for all cores");
}

}  // namespace attend
