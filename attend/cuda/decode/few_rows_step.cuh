// One token step of a decoder with up to 128 rows in one kernel: all layers, no launches in between. few_rows_plan.h
// says which block does what. A layer has four phases, and all blocks wait for each other behind each:
//   attend     norm, product to queries, keys and values, which go to the cache; then each cluster attends with its
//              head: every row's keys in eight parts, joined in the cluster
//   output     product, added to the stream
//   expand     norm, product, activation
//   contract   product, added to the stream
// The weights of the next layer are fetched into shared memory as soon as those of this one are used, and the first
// keys of its caches into the L2 cache.
//
// The stream is f32. Each block keeps the columns and rows that it adds to in shared memory, and publishes them with
// the mean and the squared deviations of each row over them. Readers join these by the formula of Chan et al. 1979.
#pragma once

#include <cstdint>

#include "attend/cuda/bulk_copy.cuh"
#include "attend/cuda/decode/few_rows_plan.h"
#include "attend/cuda/decode/step_stamps.cuh"
#include "attend/cuda/early_launch.cuh"
#include "attend/cuda/element.cuh"
#include "attend/cuda/rows/activation.cuh"
#include "attend/cuda/rows/block.cuh"
#include "attend/cuda/warp_products.cuh"

namespace attend::cuda {

inline constexpr int kMostFewLayers = 48;

struct FewRowsParams {
  const std::uint8_t* packed = nullptr;  // FewShape: layers of phases of blocks
  bf16* caches[kMostFewLayers] = {};     // [rows, capacity, 2C] each
  std::int64_t capacity = 0;
  int rows = 0, layers = 0;
  const std::int32_t *lengths = nullptr, *slots = nullptr;       // [rows]; lengths include the newest position
  const bf16* x = nullptr;                                       // [rows, C]
  bf16* states = nullptr;                                        // [rows, C]
  const float *norm_weight = nullptr, *norm_bias = nullptr;      // [C], after the last layer
  std::uint32_t *arrivals = nullptr, *before = nullptr;          // of blocks at barriers, ever; and before this launch
  bf16 *queries = nullptr, *mixed = nullptr, *hidden = nullptr;  // [rows, C]; in blocks [C]; in blocks [F]
  float* stream = nullptr;                                       // [rows, C]
  float2* moments = nullptr;                                     // [rows, clusters]: mean, squared deviations
  int keys_ahead = 0;  // keys of each row that are fetched into the L2 cache a layer ahead
  float eps = 0;
  Activation activation = Activation::none;
  StampParams stamps = {};  // for kernels that take the time
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// The counter of arrivals only grows; its values may wrap around.
__device__ __forceinline__ void arrive_at(std::uint32_t* counter) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}
__device__ __forceinline__ std::uint32_t arrivals_at(const std::uint32_t* counter) {
  std::uint32_t count;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(count) : "l"(counter) : "memory");
  return count;
}
__device__ __forceinline__ void fetch_bytes(std::uint32_t to, const void* from, std::uint32_t bytes,
                                            std::uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
// Into the L2 cache; address and count are multiples of 16.
__device__ __forceinline__ void fetch_to_l2(const void* from, std::uint32_t bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}
// 16 bytes of the same variable in the shared memory of a block of the cluster.
__device__ __forceinline__ float4 four_of(const float* variable, int rank) {
  float4 x;
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %4, %5;\n"
      "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];\n}\n"
      : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
      : "r"(shared_address(variable)), "r"(rank)
      : "memory");
  return x;
}
// What other blocks wrote in this launch: never from the L1 cache, and never moved across a barrier by the compiler.
__device__ __forceinline__ uint4 load_shared_by_all(const bf16* from) {
  uint4 x;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "l"(from)
               : "memory");
  return x;
}
__device__ __forceinline__ float4 load_shared_by_all(const float* from) {
  float4 x;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
               : "l"(from)
               : "memory");
  return x;
}

// 16 columns times 8 rows, a chunk of 32 of the summed axis: low and high are the two blocks of 8 columns.
__device__ __forceinline__ void multiply_chunk(float (&c)[4], const uint4& low, const uint4& high, const uint4& x) {
  mma(c, {low.x, high.x, low.y, high.y}, x.x, x.y);
  mma(c, {low.z, high.z, low.w, high.w}, x.z, x.w);
}

#endif

}  // namespace attend::cuda
