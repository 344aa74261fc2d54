// Single instructions of the special function unit, right to about 2 units in the last place. Denormals count as zero:
// caring for them takes three more instructions each.
#pragma once

namespace attend::cuda {

// 2^x; 0 for -inf.
__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// 1 / x; 0 for ±inf.
__device__ __forceinline__ float reciprocal_fast(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// tanh x, right to 5e-4 of it: enough for what is rounded to bf16 next.
__device__ __forceinline__ float tanh_rough(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace attend::cuda
