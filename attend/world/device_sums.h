// Sums over all ranks of numbers that lie on a GPU, in the order of its stream: what starts a sum goes on at once, and
// a captured step has it inside. By NCCL (nccl/), whose id goes over the World.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attend/world/world.h"

namespace attend::world {

// Where a device computes: its number on this host and the stream (a cudaStream_t); null: it has none.
struct DeviceQueue {
  int device = 0;
  void* stream = nullptr;
};

class DeviceSums {
 public:
  virtual ~DeviceSums() = default;

  struct Numbers {
    void* values = nullptr;  // f32, or bf16; the sum takes their place
    std::size_t count = 0;
    Wire wire = Wire::f32;
  };
  // Behind all that the stream was given so far, beside what it is given from now on.
  virtual void start(const Numbers& numbers) = 0;
  // What the stream is given from now on is behind all sums.
  virtual void finish() = 0;
  // Everybody's part of so many numbers (part.h), f32 or bf16, to all, in the stream.
  virtual void gather(void* values, std::int64_t size, Wire wire) = 0;
};

}  // namespace attend::world
