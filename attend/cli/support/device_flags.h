// --device, --dtype and --threads: where a command computes, and in what; --weights: how it keeps a model it runs.
#pragma once

#include <memory>
#include <string>

#include "attend/base/dtype.h"
#include "attend/nn/parameters.h"
#include "attend/tensor/backend.h"
#include "attend/world/world.h"

namespace attend::cli {

class Flags;

struct DeviceFlags {
  std::string device = "cpu", dtype = "f32", weights = {};
  int threads = 0;
  bool exact_prompts = false, batch_invariant = true;  // as BackendOptions say
  bool strict = false;                                 // UnreadPolicy's

  // Processes of one host share its cores, and take a GPU each.
  std::unique_ptr<Backend> open(world::World& world = world::alone()) const;
  DType type() const { return dtype == "bf16" ? DType::bf16 : DType::f32; }
  nn::ModelFormat format() const;
};

// The same of a device's name and a number of threads, where they leave it open.
void share_host(world::World& world, std::string& device, int& threads);

void add_device_flags(Flags& flags, DeviceFlags& options);
void add_weights_flag(Flags& flags, DeviceFlags& options);
void add_exact_prompts_flag(Flags& flags, DeviceFlags& options);

}  // namespace attend::cli
