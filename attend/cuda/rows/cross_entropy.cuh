// What the kernels of the cross entropy share: walking a row, its running maximum, and what its entries become.
#pragma once

#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/block.cuh"

namespace attend::cuda {

constexpr std::int64_t kWarpWidth = 1024;  // up to here a row is for one warp
constexpr float kLog2E = 1.4426950408889634f;

__device__ __forceinline__ float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Calls single(c) for the entries of a row before the first 16-byte boundary and after the last, and packs(c) for a
// pack that begins at c; each thread of Threads takes its share.
template <class T, int Threads, class Packs, class Single>
__device__ __forceinline__ void walk_row(const T* row, std::int64_t width, Packs&& packs, Single&& single) {
  constexpr int N = kPack<T>;
  const int misaligned = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) / sizeof(T) % N);
  const std::int64_t head = min(width, static_cast<std::int64_t>((N - misaligned) % N));
  const std::int64_t body = (width - head) / N, tail = head + body * N;
#pragma unroll 4
  for (std::int64_t p = threadIdx.x; p < body; p += Threads) packs(head + p * N);
  if (threadIdx.x < head) single(threadIdx.x);
  for (std::int64_t c = tail + threadIdx.x; c < width; c += Threads) single(c);
}

// The running maximum is kept in units of log 2: e^x = 2^(x log2 e) is one multiply-add and one instruction.
struct Running {
  float max = -INFINITY, sum = 0, total = 0;

  template <int N>
  __device__ __forceinline__ void take(const float (&x)[N]) {
    float top = x[0];
#pragma unroll
    for (int j = 1; j < N; ++j) top = fmaxf(top, x[j]);
    if (top > max) {
      sum *= power_of_two((max - top) * kLog2E);
      max = top;
    }
    const float shift = max == -INFINITY ? 0.0f : max * kLog2E;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      sum += power_of_two(x[j] * kLog2E - shift);
      total += x[j];
    }
  }
};

struct Targets {
  const std::int32_t* at;
  std::int32_t ignore;
  float smoothing;
};

// What a row's entries become: d = scale · (e^(x - lse) - floor), less `hit` at the target.
struct RowGradient {
  float scale, shift, offset, hit;
  std::int32_t target;

  __device__ __forceinline__ float smooth(float x) const { return scale * power_of_two(x * kLog2E - shift) - offset; }
  __device__ __forceinline__ float at(std::int64_t c, float x) const { return smooth(x) - (c == target ? hit : 0.0f); }
  // Entries c, c + 1, ..
  template <class Index, int N>
  __device__ __forceinline__ void at(Index c, float (&x)[N]) const {
#pragma unroll
    for (int j = 0; j < N; ++j) x[j] = smooth(x[j]);
    if (target < c || target >= c + N) return;  // but once per row
#pragma unroll
    for (int j = 0; j < N; ++j)
      if (c + j == target) x[j] -= hit;
  }
};

}  // namespace attend::cuda
