// What attend and its MPI plugin say to each other: a table of plain C functions, so that the program itself knows no
// MPI and one build of it runs where there is none. Each call begins something; done() says when it is over.
#pragma once

#include <cstddef>

extern "C" {

struct AttendMpiCalls {
  int version;
  int rank, size, host_rank, host_size;
  int threads;  // any may call, one at a time; 0: only the one that opened it
  void (*exchange)(const void* parts, void* received, std::size_t bytes_each);
  void (*gather)(const void* own, void* all, std::size_t bytes_each);
  void (*broadcast)(void* values, std::size_t bytes, int from);
  void (*barrier)();
  int (*done)();
  // Asks for so long who else waits: here[rank] is 1 for those. Nothing else is possible afterwards.
  void (*roll_call)(char* here, double seconds);
  // For who waits and has not given up: tells those who asked.
  void (*answer_roll_call)();
  void (*finish)();
  void (*abandon)(int code);
};

// The one function of the plugin. Null: MPI could not be started.
using AttendOpenMpi = const AttendMpiCalls* (*)();
}

namespace attend::world {
inline constexpr int kMpiCallsVersion = 3;
inline constexpr const char* kOpenMpi = "attend_open_mpi";
}  // namespace attend::world
