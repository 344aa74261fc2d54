// The plugin: NCCL behind the table of calls.h. Sums run on a stream of their own, behind an event of the one that
// computes; that one waits for an event of theirs. A capture of the computing stream follows both ways, so a captured
// step has its sums inside.
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstring>

#include "attend/world/nccl/calls.h"

namespace {

struct Communicator {
  ncclComm_t nccl = nullptr;
  int device = 0;
  cudaStream_t computes = nullptr, sums = nullptr;
  cudaEvent_t ready = nullptr, summed = nullptr;
};

const char* wrong(ncclResult_t result) { return result == ncclSuccess ? nullptr : ncclGetErrorString(result); }
const char* wrong(cudaError_t result) { return result == cudaSuccess ? nullptr : cudaGetErrorString(result); }

// The first of these that is not null.
template <class... Calls>
const char* first_wrong(Calls... calls) {
  const char* found = nullptr;
  static_cast<void>((... || ((found = calls()) != nullptr)));
  return found;
}

const char* make_id(void* id) {
  ncclUniqueId made;
  const char* const found = wrong(ncclGetUniqueId(&made));
  std::memcpy(id, &made, sizeof made);
  return found;
}

const char* open_communicator(const void* id, int rank, int size, int device, void* stream, void** communicator) {
  auto* one = new Communicator{.device = device, .computes = static_cast<cudaStream_t>(stream)};
  *communicator = one;
  ncclUniqueId made;
  std::memcpy(&made, id, sizeof made);
  return first_wrong([&] { return wrong(cudaSetDevice(device)); },
                     [&] { return wrong(cudaStreamCreateWithFlags(&one->sums, cudaStreamNonBlocking)); },
                     [&] { return wrong(cudaEventCreateWithFlags(&one->ready, cudaEventDisableTiming)); },
                     [&] { return wrong(cudaEventCreateWithFlags(&one->summed, cudaEventDisableTiming)); },
                     [&] { return wrong(ncclCommInitRank(&one->nccl, size, made, rank)); });
}

const char* start(void* communicator, void* values, std::size_t count, int bf16) {
  const auto& one = *static_cast<Communicator*>(communicator);
  const ncclDataType_t type = bf16 ? ncclBfloat16 : ncclFloat32;
  return first_wrong([&] { return wrong(cudaSetDevice(one.device)); },
                     [&] { return wrong(cudaEventRecord(one.ready, one.computes)); },
                     [&] { return wrong(cudaStreamWaitEvent(one.sums, one.ready, 0)); },
                     [&] { return wrong(ncclAllReduce(values, values, count, type, ncclSum, one.nccl, one.sums)); });
}

const char* finish(void* communicator) {
  const auto& one = *static_cast<Communicator*>(communicator);
  return first_wrong([&] { return wrong(cudaEventRecord(one.summed, one.sums)); },
                     [&] { return wrong(cudaStreamWaitEvent(one.computes, one.summed, 0)); });
}

const char* broadcast_parts(void* communicator, float* values, const long long* begins, int parts) {
  const auto& one = *static_cast<Communicator*>(communicator);
  const char* found = wrong(ncclGroupStart());
  for (int rank = 0; rank < parts && !found; ++rank) {
    const auto count = static_cast<std::size_t>(begins[rank + 1] - begins[rank]);
    float* const part = values + begins[rank];
    if (count > 0) found = wrong(ncclBroadcast(part, part, count, ncclFloat32, rank, one.nccl, one.computes));
  }
  const char* const ended = wrong(ncclGroupEnd());
  return found ? found : ended;
}

void close_communicator(void* communicator) {
  auto* one = static_cast<Communicator*>(communicator);
  if (!one) return;
  if (one->sums) cudaStreamSynchronize(one->sums);
  if (one->nccl) ncclCommDestroy(one->nccl);
  if (one->ready) cudaEventDestroy(one->ready);
  if (one->summed) cudaEventDestroy(one->summed);
  if (one->sums) cudaStreamDestroy(one->sums);
  delete one;
}

}  // namespace

extern "C" const AttendNcclCalls* attend_open_nccl() {
  static const AttendNcclCalls calls = {.version = attend::world::kNcclCallsVersion,
                                        .id_bytes = static_cast<int>(sizeof(ncclUniqueId)),
                                        .make_id = make_id,
                                        .open = open_communicator,
                                        .start = start,
                                        .finish = finish,
                                        .broadcast_parts = broadcast_parts,
                                        .close = close_communicator};
  return &calls;
}
