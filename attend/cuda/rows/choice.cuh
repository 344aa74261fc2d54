// How tokens are compared: by logit, then by place. Larger logits and, among equals, smaller ids have larger keys; NaN
// comes last. 0 is below every key.
#pragma once

#include "attend/cuda/rows/block.cuh"

namespace attend::cuda {

__device__ __forceinline__ unsigned long long choice_key(float value, int id) {
  const unsigned bits = __float_as_uint(isnan(value) ? -INFINITY : value);
  const unsigned rising = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return static_cast<unsigned long long>(rising) << 32 | (0xffffffffu - static_cast<unsigned>(id));
}
__device__ __forceinline__ float logit_of_choice(unsigned long long key) {
  const auto rising = static_cast<unsigned>(key >> 32);
  return __uint_as_float(rising & 0x80000000u ? rising & 0x7fffffffu : ~rising);
}
__device__ __forceinline__ int id_of_choice(unsigned long long key) {
  return static_cast<int>(0xffffffffu - static_cast<unsigned>(key));
}

// What is known of a row of logits: the best choice, and the sum of all exponentials.
struct Choice {
  unsigned long long best = 0;
  ExpSum sum;
};
__device__ __forceinline__ Choice join(const Choice& a, const Choice& b) {
  return {a.best > b.best ? a.best : b.best, merge(a.sum, b.sum)};
}
__device__ __forceinline__ Choice join_with_lane(const Choice& x, int step) {
  return join(x, {__shfl_xor_sync(0xffffffffu, x.best, step),
                  {__shfl_xor_sync(0xffffffffu, x.sum.max, step), __shfl_xor_sync(0xffffffffu, x.sum.sum, step)}});
}

}  // namespace attend::cuda
