#include "attend/cli/support/device_flags.h"

#include <fmt/core.h>

#include <algorithm>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/base/thread_pool.h"
#include "attend/checkpoint/unread_tensors.h"
#include "attend/cli/support/flags.h"

namespace attend::cli {

void share_host(world::World& world, std::string& device, int& threads) {
  if (world.size() == 1) return;
  const int sharing = world::sharing_cores(world);
  if (threads == 0) threads = std::max(1, available_cores() / sharing);
  if (device == "cuda") device = fmt::format("cuda:{}", world.host_rank());
}

std::unique_ptr<Backend> DeviceFlags::open(world::World& world) const {
  std::string where = device;
  int count = threads;
  share_host(world, where, count);
  check(!exact_prompts || dtype != "bf16", "--exact-prompts does not work with --dtype bf16; use f32 or bf16x3");
  return open_backend(where, {.threads = count,
                              .fast_products = dtype == "bf16x3",
                              .batch_invariant = batch_invariant,
                              .exact_prompts = exact_prompts});
}

nn::ModelFormat DeviceFlags::format() const {
  if (weights.empty()) return type();
  check(device == "cpu", "--weights {}: only the CPU keeps weights apart from what it computes in; --dtype is for {}",
        weights, device);
  return {type(), nn::weight_form_named(weights)};
}

void add_device_flags(Flags& flags, DeviceFlags& options) {
  flags.add("--device", options.device, "Device: cpu, cuda or cuda:N.");
  flags
      .add("--dtype", options.dtype,
           "Compute type: f32; bf16 (half the memory, faster on devices with bf16 units); bf16x3 (f32 from three bf16 "
           "products: up to twice as fast on CPUs with AMX or BFMMLA, relative error about 1e-6).")
      .one_of({"f32", "bf16", "bf16x3"});
  flags.add("--threads", options.threads, "CPU threads; 0 uses all cores.");
}

void add_weights_flag(Flags& flags, DeviceFlags& options) {
  flags
      .add("--weights", options.weights,
           "CPU storage type of the weights: f32, bf16 or int8. Smaller types are faster and slightly less exact; bf16 "
           "saves no memory on CPUs without bf16 instructions. Default: --dtype, or int8 for an int8 file.")
      .one_of({"f32", "bf16", "int8"});
  flags.add("--strict", options.strict, "Refuse a model file with unused tensors. By default they cause a warning.")
      .then([&options] {
        if (options.strict) checkpoint::UnreadGuard::be_strict();
      });
}

void add_exact_prompts_flag(Flags& flags, DeviceFlags& options) {
  flags.add("--exact-prompts", options.exact_prompts,
            "CPU: compute the same logits, bit for bit, for a prompt and for generated tokens. Prompts are processed "
            "more slowly, and the cache uses f32.");
}

}  // namespace attend::cli
