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
  flags.add("--device", options.device, "cpu, cuda or cuda:N");
  flags
      .add("--dtype", options.dtype,
           "f32; bf16: half the memory, and faster where the device has it; bf16x3: f32 whose products are sums of "
           "three of bf16, on a CPU with matrix units (AMX, BFMMLA) up to twice as fast and a few millionths off")
      .one_of({"f32", "bf16", "bf16x3"});
  flags.add("--threads", options.threads, "CPU threads, 0 for all cores");
}

void add_weights_flag(Flags& flags, DeviceFlags& options) {
  flags
      .add("--weights", options.weights,
           "f32, bf16 or int8: how the CPU keeps the weights; smaller is faster and a little less exact. On a CPU "
           "without bf16 products (AVX2 alone) bf16 takes the memory of f32. Else as --dtype, or int8 where the file "
           "is")
      .one_of({"f32", "bf16", "int8"});
  flags
      .add("--strict", options.strict,
           "refuse a model whose file has tensors that it does not read; else they are named")
      .then([&options] {
        if (options.strict) checkpoint::UnreadGuard::be_strict();
      });
}

void add_exact_prompts_flag(Flags& flags, DeviceFlags& options) {
  flags.add(
      "--exact-prompts", options.exact_prompts,
      "CPU: a text gets the same logits, bit by bit, whether the model read it as a prompt or generated it. Reads "
      "prompts more slowly, and keeps the cache in f32");
}

}  // namespace attend::cli
