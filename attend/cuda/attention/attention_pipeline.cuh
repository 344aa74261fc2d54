// What the attention kernels of Hopper share in which one warpgroup copies and the others multiply: rows of a tile that
// belong to no sequence, barriers of warpgroups, and the order in which blocks may add to the same place.
#pragma once

#include "attend/cuda/attention/attention_mask.cuh"
#include "attend/cuda/bulk_copy.cuh"
#include "attend/cuda/group_products.cuh"

namespace attend::cuda {

// Rows from `valid` on become zero, by one warpgroup for itself. The copy engine brings whatever lies behind a
// sequence, and zero weights do not hide a NaN. Several groups may do the same at once.
template <class Tile>
__device__ __forceinline__ void zero_rows(unsigned char* tile, int valid) {
  constexpr int kChunks = Tile::kColumns / 8;
  for (int i = static_cast<int>(threadIdx.x) % 128 + valid * kChunks; i < Tile::kRows * kChunks; i += 128)
    *reinterpret_cast<uint4*>(tile + Tile::offset(i / kChunks, i % kChunks)) = make_uint4(0, 0, 0, 0);
}

// `count` threads, warps as a whole. Barriers 1 to 7 are those of single warpgroups.
template <int kBarrier, int kCount>
__device__ __forceinline__ void shared_barrier() {
  asm volatile("barrier.sync %0, %1;" ::"n"(kBarrier), "n"(kCount) : "memory");
}

// The stages that are filled and emptied in turn.
template <int kStages>
struct Stage {
  int index = 0;
  std::uint32_t phase = 0;

  __device__ __forceinline__ void advance() {
    if (++index == kStages) index = 0, phase ^= 1;
  }
};

// How many have added to a place so far, counted in memory.
__device__ __forceinline__ int turns_taken(const int* turns) {
  int taken;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(taken) : "l"(turns) : "memory");
  return taken;
}
__device__ __forceinline__ void end_turn(int* turns, int taken) {
  asm volatile("fence.acq_rel.gpu;\nst.release.gpu.global.s32 [%0], %1;" ::"l"(turns), "r"(taken) : "memory");
}

}  // namespace attend::cuda
