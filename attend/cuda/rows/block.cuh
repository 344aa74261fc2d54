// Sums and maxima over a warp and over a block, always in the same order.
#pragma once

namespace attend::cuda {

inline constexpr int kWarp = 32;

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}

// The sum over a block of Threads threads, given to all of them. `shared` holds Threads / 32 floats and may be
// used again right away.
template <int Threads>
__device__ __forceinline__ float block_sum(float x, float* shared) {
  x = warp_sum(x);
  if constexpr (Threads == kWarp) return x;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  if (lane == 0) shared[warp] = x;
  __syncthreads();
  x = warp_sum(lane < Threads / kWarp ? shared[lane] : 0.0f);
  __syncthreads();
  return x;
}

template <int Threads>
__device__ __forceinline__ float block_max(float x, float* shared) {
  x = warp_max(x);
  if constexpr (Threads == kWarp) return x;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  if (lane == 0) shared[warp] = x;
  __syncthreads();
  x = warp_max(lane < Threads / kWarp ? shared[lane] : -INFINITY);
  __syncthreads();
  return x;
}

// Sums of exponentials against a running maximum, so that one read of a row is enough (Milakov & Gimelshein 2018).
struct ExpSum {
  float max = -INFINITY;
  float sum = 0;
};

__device__ __forceinline__ ExpSum merge(ExpSum a, ExpSum b) {
  const float max = fmaxf(a.max, b.max);
  if (a.max == -INFINITY && b.max == -INFINITY) return {max, 0.0f * (a.sum + b.sum)};  // 0, or the NaN of before
  return {max, a.sum * __expf(a.max - max) + b.sum * __expf(b.max - max)};
}

template <int Threads>
__device__ __forceinline__ ExpSum block_merge(ExpSum x, ExpSum* shared) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1)
    x = merge(x, {__shfl_xor_sync(0xffffffffu, x.max, step), __shfl_xor_sync(0xffffffffu, x.sum, step)});
  if constexpr (Threads == kWarp) return x;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  if (lane == 0) shared[warp] = x;
  __syncthreads();
  x = lane < Threads / kWarp ? shared[lane] : ExpSum{};
#pragma unroll
  for (int step = 16; step > 0; step >>= 1)
    x = merge(x, {__shfl_xor_sync(0xffffffffu, x.max, step), __shfl_xor_sync(0xffffffffu, x.sum, step)});
  __syncthreads();
  return x;
}

}  // namespace attend::cuda
