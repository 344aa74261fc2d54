#include "attend/cli/device_flags.h"

#include "attend/backends.h"

namespace attend {

std::unique_ptr<Backend> DeviceFlags::open() const { return open_backend(device, {.threads = threads}); }

void add_device_flags(CLI::App& flags, DeviceFlags& options) {
  flags.add_option("--device", options.device, "cpu, cuda or cuda:N")->capture_default_str();
  flags.add_option("--dtype", options.dtype, "f32, or bf16: half the memory, and faster where the device has it")
      ->check(CLI::IsMember({"f32", "bf16"}).description(""))
      ->capture_default_str();
  flags.add_option("--threads", options.threads, "CPU threads, 0 for all cores")->capture_default_str();
}

}  // namespace attend
