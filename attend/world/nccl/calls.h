// What attend and its NCCL plugin say to each other: a table of plain C functions. All return null, or what went wrong.
#pragma once

#include <cstddef>

extern "C" {

struct AttendNcclCalls {
  int version;
  int id_bytes;
  const char* (*make_id)(void* id);  // by one rank, for all
  // Of this rank, on the device and beside the stream (a cudaStream_t) that are its.
  const char* (*open)(const void* id, int rank, int size, int device, void* stream, void** communicator);
  const char* (*start)(void* communicator, void* values, std::size_t count, int bf16);
  const char* (*finish)(void* communicator);
  const char* (*broadcast_parts)(void* communicator, float* values, const long long* begins, int parts);
  void (*close)(void* communicator);
};

// The one function of the plugin.
using AttendOpenNccl = const AttendNcclCalls* (*)();
}

namespace attend::world {
inline constexpr int kNcclCallsVersion = 1;
inline constexpr const char* kOpenNccl = "attend_open_nccl";
}  // namespace attend::world
