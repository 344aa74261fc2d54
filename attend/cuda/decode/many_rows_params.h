// What the kernel of many_rows_kernel.cuh is given, and the few types that it has in registers.
#pragma once

#include <bit>
#include <cstdint>

#include "attend/cuda/decode/step_stamps.cuh"
#include "attend/tensor/activation.h"

namespace attend::cuda {

// In front of a loop: its turns are written one behind the other, and arrays that it runs over stay in registers.
#ifdef __CUDACC__
#define ATTEND_UNROLLED _Pragma("unroll")
#else
#define ATTEND_UNROLLED
#endif

inline constexpr int kManyMostLayers = 48;

struct alignas(8) [[gnu::may_alias]] Pair {
  std::uint32_t x, y;
};
struct alignas(16) [[gnu::may_alias]] Words {
  std::uint32_t x, y, z, w;
};

struct alignas(16) [[gnu::may_alias]] Floats {
  float x, y, z, w;
};

// 16 bytes of bf16.
__device__ __forceinline__ void widen(const Words& bits, float (&x)[8]) {
  const std::uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
  ATTEND_UNROLLED
  for (int i = 0; i < 4; ++i)
    x[2 * i] = std::bit_cast<float>(words[i] << 16), x[2 * i + 1] = std::bit_cast<float>(words[i] & 0xffff0000u);
}

struct ManyRowsParams {
  const std::uint8_t* packed = nullptr;         // ManyShape: layers of phases of blocks
  std::uint16_t* caches[kManyMostLayers] = {};  // bf16 [rows, capacity, 2C] each
  std::int64_t capacity = 0;
  int rows = 0, layers = 0;
  const std::int32_t *lengths = nullptr, *slots = nullptr;   // [rows]; lengths include the newest position
  const std::uint16_t* x = nullptr;                          // bf16 [rows, C]
  std::uint16_t* states = nullptr;                           // bf16 [rows, C]
  const float *norm_weight = nullptr, *norm_bias = nullptr;  // [C], after the last layer
  std::uint32_t *arrivals = nullptr, *before = nullptr;      // of blocks at barriers, ever; and before this launch
  const std::int32_t* places = nullptr;                      // [rows, capacity]: rows of the caches, or none
  // Of a memory: keys and values bf16 [B, S, 2C] per layer, lengths [B] or none, S, and rows per memory.
  const std::uint16_t* memories[kManyMostLayers] = {};
  const std::int32_t* memory_lengths = nullptr;
  int memory_room = 0, group = 1;
  // Messages, marked by layers (many_rows_plan.h), for all 64 rows. Of the stream in front of a layer, behind its
  // attention, and behind that to a memory. The attentions are as many.
  float* stream = nullptr;                            // 2 or 3 of [rows, C]
  float* moments = nullptr;                           // 2 or 3 of [rows, clusters, 2]: mean, squared deviations
  std::uint16_t *mixed = nullptr, *hidden = nullptr;  // bf16 in swizzled blocks, 1 or 2 of C and one of F columns
  int keys_ahead = 0;  // keys of each row that are fetched into the L2 cache a layer ahead
  float eps = 0;
  Activation activation = Activation::none;
  StampParams stamps = {};  // for kernels that take the time
};

}  // namespace attend::cuda
