// --device, --dtype and --threads: where a command computes, and in what; --weights: how it keeps a model it runs.
#pragma once

#include <memory>
#include <string>

#include "attend/base/dtype.h"
#include "attend/nn/parameters.h"
#include "attend/tensor/backend.h"

namespace attend {

class Flags;

struct DeviceFlags {
  std::string device = "cpu", dtype = "f32", weights = {};
  int threads = 0;

  std::unique_ptr<Backend> open() const;
  DType type() const { return dtype == "bf16" ? DType::bf16 : DType::f32; }
  nn::ModelFormat format() const;
};

void add_device_flags(Flags& flags, DeviceFlags& options);
void add_weights_flag(Flags& flags, DeviceFlags& options);

}  // namespace attend
