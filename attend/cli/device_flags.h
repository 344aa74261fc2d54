// --device, --dtype and --threads: where a command computes, and in what.
#pragma once

#include <memory>
#include <string>

#include "attend/base/dtype.h"
#include "attend/tensor/backend.h"

namespace attend {

class Flags;

struct DeviceFlags {
  std::string device = "cpu", dtype = "f32";
  int threads = 0;

  std::unique_ptr<Backend> open() const;
  DType type() const { return dtype == "bf16" ? DType::bf16 : DType::f32; }
};

void add_device_flags(Flags& flags, DeviceFlags& options);

}  // namespace attend
