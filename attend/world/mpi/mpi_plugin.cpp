// The plugin: MPI behind the table of calls.h. The only file that sees mpi.h.
#include <mpi.h>

#include <sched.h>

#include <algorithm>
#include <vector>

#include "attend/world/mpi/calls.h"

namespace {

constexpr int kRollCall = 26;  // tag of messages of those who wait

AttendMpiCalls calls;
MPI_Request pending = MPI_REQUEST_NULL;

void exchange(const void* parts, void* received, std::size_t bytes) {
  const int count = static_cast<int>(bytes);
  MPI_Ialltoall(parts, count, MPI_BYTE, received, count, MPI_BYTE, MPI_COMM_WORLD, &pending);
}

void gather(const void* own, void* all, std::size_t bytes) {
  const int count = static_cast<int>(bytes);
  MPI_Iallgather(own, count, MPI_BYTE, all, count, MPI_BYTE, MPI_COMM_WORLD, &pending);
}

void broadcast(void* values, std::size_t bytes, int from) {
  MPI_Ibcast(values, static_cast<int>(bytes), MPI_BYTE, from, MPI_COMM_WORLD, &pending);
}

void barrier() { MPI_Ibarrier(MPI_COMM_WORLD, &pending); }

int done() {
  int flag = 0;
  MPI_Test(&pending, &flag, MPI_STATUS_IGNORE);
  return flag;
}

char token = 1;
std::vector<char> heard;  // of those who sent a token

// Takes a token, where there is one. Who sent it; -1: nobody.
int next_caller() {
  int flag = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, kRollCall, MPI_COMM_WORLD, &flag, &status);
  if (!flag) return -1;
  char got = 0;
  MPI_Recv(&got, 1, MPI_CHAR, status.MPI_SOURCE, kRollCall, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  heard[static_cast<std::size_t>(status.MPI_SOURCE)] = 1;
  return status.MPI_SOURCE;
}

// The one it goes to may be the one that hangs: nobody waits for its arrival.
void send_token(int to) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(&token, 1, MPI_CHAR, to, kRollCall, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
}

void roll_call(char* here, double seconds) {
  for (int to = 0; to < calls.size; ++to)
    if (to != calls.rank) send_token(to);
  heard[static_cast<std::size_t>(calls.rank)] = 1;
  for (const double end = MPI_Wtime() + seconds; MPI_Wtime() < end; sched_yield()) next_caller();
  std::copy(heard.begin(), heard.end(), here);
}

void answer_roll_call() {
  if (const int caller = next_caller(); caller >= 0) send_token(caller);
}

void finish() { MPI_Finalize(); }

void abandon(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

}  // namespace

extern "C" const AttendMpiCalls* attend_open_mpi() {
  int level = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS) return nullptr;
  calls = {.version = attend::world::kMpiCallsVersion,
           .rank = 0,
           .size = 1,
           .host_rank = 0,
           .host_size = 1,
           .threads = level >= MPI_THREAD_SERIALIZED,
           .exchange = exchange,
           .gather = gather,
           .broadcast = broadcast,
           .barrier = barrier,
           .done = done,
           .roll_call = roll_call,
           .answer_roll_call = answer_roll_call,
           .finish = finish,
           .abandon = abandon};
  MPI_Comm_rank(MPI_COMM_WORLD, &calls.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &calls.size);
  heard.assign(static_cast<std::size_t>(calls.size), 0);
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &calls.host_rank);
  MPI_Comm_size(host, &calls.host_size);
  MPI_Comm_free(&host);
  return &calls;
}
