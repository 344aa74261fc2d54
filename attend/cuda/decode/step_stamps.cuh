// Where the time of a kernel that computes a whole step goes, block by block. Kernels take a recorder as a template
// argument: NoStamps leaves no instruction, and StampedLayer exists in bench/cuda_kernels alone.
#pragma once

#include <cstdint>

namespace attend::cuda {

// A layer's moments: when each of its phases has come to the end of a step. A kernel without a step or phase leaves it
// out.
struct StepMoment {
  enum Phase { kInput, kAttend, kOutput, kQuery, kMemory, kMemoryOutput, kExpand, kContract };
  enum Step {
    kCame,        // what other blocks wrote is there
    kRead,        // it lies in shared memory
    kMultiplied,  // the partial product is on its way; attention: the sums over keys
    kMet,         // all partial results of the cluster are there
    kDone         // the results are on their way to the other blocks
  };
  static constexpr int kPhases = kContract + 1, kSteps = kDone + 1;
  static constexpr int kStart = 0, kCount = 1 + kPhases * kSteps;  // kStart: of the layer
  static constexpr int of(Phase phase, Step step) {
    return 1 + static_cast<int>(phase) * kSteps + static_cast<int>(step);
  }
  // Of the whole kernel: the multiprocessor's clock and the GPU's, which counts nanoseconds.
  static constexpr int kBeginClock = kCount, kEndClock = kCount + 1, kBeginTime = kCount + 2, kEndTime = kCount + 3;
  static constexpr int kAll = kCount + 4;
};

struct StampParams {
  std::uint64_t* of_blocks = nullptr;  // [blocks, StepMoment::kAll]
  int layer = 0;                       // whose moments are wanted
};

// The first thread of a block notes the time: of StepMoment::of(..) in a layer, and of the kernel's begin and end.
struct NoStamps {
  static __device__ __forceinline__ void moment(const StampParams&, int /*layer*/, int /*moment*/) {}
  static __device__ __forceinline__ void kernel(const StampParams&, int /*clock*/, int /*time*/) {}
};

#ifdef __CUDACC__

struct StampedLayer {
  static __device__ __forceinline__ void moment(const StampParams& p, int layer, int moment) {
    if (threadIdx.x == 0 && layer == p.layer) p.of_blocks[blockIdx.x * StepMoment::kAll + moment] = clock64();
  }
  static __device__ __forceinline__ void kernel(const StampParams& p, int clock, int time) {
    if (threadIdx.x != 0) return;
    std::uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    p.of_blocks[blockIdx.x * StepMoment::kAll + clock] = clock64();
    p.of_blocks[blockIdx.x * StepMoment::kAll + time] = now;
  }
};

#endif

}  // namespace attend::cuda
