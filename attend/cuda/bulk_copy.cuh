// Hopper's copy engine (TMA): one thread orders a whole tile of a matrix, and a barrier in shared memory counts the
// bytes as they arrive, in this block and in the other blocks of its cluster. Swizzled as SharedTile lays tiles out.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "attend/tensor/window_walk.h"

namespace attend::cuda {

// A barrier counts arrivals, and bytes if it was told to expect some; its phase, and with it the parity to wait for,
// changes when all are there.
__device__ __forceinline__ void barrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// 1 without a cluster.
__device__ __forceinline__ int blocks_in_cluster() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  int count;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
  return count;
#else
  return 1;
#endif
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

__device__ __forceinline__ void barriers_are_ready() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives, and adds bytes to what has to come.
__device__ __forceinline__ void barrier_expect(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// At the same barrier of a block of the cluster. No scope is named, here as below: with .cluster the compiler adds
// fences for ordinary memory and empties the L1 cache, and a product took twice its time.
__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier, std::uint32_t block) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n}\n" ::"r"(barrier),
      "r"(block)
      : "memory");
}

// At a barrier of this block.
__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Until the phase of this parity is over: the one under way, or the one before it, no other can be told apart.
__device__ __forceinline__ void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// A tile that begins at (column, row) of the matrix; what lies outside the matrix comes as zeros.
__device__ __forceinline__ void copy_tile(std::uint32_t to, const CUtensorMap& from, int column, int row,
                                          std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
          to),
      "l"(&from), "r"(barrier), "r"(column), "r"(row)
      : "memory");
}

// A tile of one head of a matrix of heads: columns of the head from `column` on, and rows from `row` on.
__device__ __forceinline__ void copy_head_tile(std::uint32_t to, const CUtensorMap& from, int column, int head, int row,
                                               std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
          "r"(to),
      "l"(&from), "r"(barrier), "r"(column), "r"(head), "r"(row)
      : "memory");
}

// A tile of windows (WindowedImage): channels from `channel` on of the pixels that the walk visits from place (h, w) of
// the image on, each read at an offset.
__device__ __forceinline__ void copy_windows(std::uint32_t to, const CUtensorMap& from, int channel,
                                             const images::WalkBase& base, int offset_h, int offset_w,
                                             std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(to),
      "l"(&from), "r"(barrier), "r"(channel), "r"(base.w), "r"(base.h), "r"(base.image),
      "h"(static_cast<std::uint16_t>(offset_w)), "h"(static_cast<std::uint16_t>(offset_h))
      : "memory");
}

// The same to the same place in every block of the cluster whose bit is set; each one's barrier counts it.
__device__ __forceinline__ void copy_tile_to_all(std::uint32_t to, const CUtensorMap& from, int column, int row,
                                                 std::uint32_t barrier, std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
      "l"(&from), "r"(barrier), "r"(column), "r"(row), "h"(blocks)
      : "memory");
}

// Back to the matrix; what lies outside of it is dropped. Thread by thread, batches of stores end in commit_stores.
__device__ __forceinline__ void store_tile(const CUtensorMap& to, int column, int row, std::uint32_t from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&to), "r"(from),
               "r"(column), "r"(row)
               : "memory");
}
__device__ __forceinline__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Plain bytes to memory, and f32 added to what is there; both addresses and the count are multiples of 16.
__device__ __forceinline__ void store_bytes(void* to, std::uint32_t from, std::uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void add_floats(float* to, std::uint32_t from, std::uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to), "r"(from),
               "r"(bytes)
               : "memory");
}
// Until all batches have arrived in memory.
__device__ __forceinline__ void stores_are_done() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
// Until at most kPending batches still read shared memory.
template <int kPending>
__device__ __forceinline__ void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

__device__ __forceinline__ std::uint32_t block_of_cluster() {
  std::uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// The same variable in the shared memory of another block of the cluster.
__device__ __forceinline__ float shared_of(const float* variable, int block) {
  float x;
  asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %1, %2;\nld.shared::cluster.f32 %0, [there];\n}\n"
               : "=f"(x)
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(variable))), "r"(block)
               : "memory");
  return x;
}
// All warps of all blocks of the cluster: each comes as a whole, or the barrier counts it before its time.
__device__ __forceinline__ void cluster_barrier() {
  __syncwarp();
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n" ::: "memory");
}
// The threads of one warpgroup.
__device__ __forceinline__ void group_barrier(int group) {
  asm volatile("barrier.sync %0, 128;" ::"r"(group + 1) : "memory");
}
// A warpgroup gives registers back, or takes them; the kernel needs launch bounds with one block, and one if/else.
template <int kRegisters>
__device__ __forceinline__ void fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Four 8 x 8 matrices of bf16 to shared memory: lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void store_matrices(std::uint32_t address, const std::uint32_t (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r[0]), "r"(r[1]),
               "r"(r[2]), "r"(r[3])
               : "memory");
}

#endif

}  // namespace attend::cuda
