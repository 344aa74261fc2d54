// The column sums of dq, dk and dv over one sequence, for the bias of the projection that made q, k and v: taken from
// the block's registers as the tiles leave, a few instructions per tile, where another kernel would read it all again.
#pragma once

#include "attend/cuda/attention/attention.cuh"
#include "attend/cuda/warp_products.cuh"

namespace attend::cuda {

// Sums over a warp's 16 rows of accumulators, its 16·N sums shared out to the lanes: kEach each.
template <int N>
struct RowSums {
  static constexpr int kEach = N >= 4 ? N / 4 : 1;
  float sum[kEach] = {};

  // Lanes that hold other rows of the same columns halve what is left among them, three times.
  __device__ __forceinline__ void add(const float (&c)[N][4]) {
    float x[2 * N];
#pragma unroll
    for (int i = 0; i < 2 * N; ++i) x[i] = c[i / 2][i % 2] + c[i / 2][2 + i % 2];
    share<2 * N, 16>(x);
    share<N, 8>(x);
    share<N / 2, 4>(x);
#pragma unroll
    for (int i = 0; i < kEach; ++i) sum[i] += x[i];
  }
  // The first kCount of x, with the lane that far away: each sums one half; a last one both do.
  template <int kCount, int kDistance>
  __device__ __forceinline__ static void share(float (&x)[2 * N]) {
    const bool upper = threadIdx.x & kDistance;
    if constexpr (kCount == 1) x[0] += __shfl_xor_sync(0xffffffffu, x[0], kDistance);
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) {
      const float mine = upper ? x[kCount / 2 + i] : x[i], other = upper ? x[i] : x[kCount / 2 + i];
      x[i] = mine + __shfl_xor_sync(0xffffffffu, other, kDistance);
    }
  }
  // To their columns.
  __device__ __forceinline__ void put(float* to, float factor) const {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = lane / 4 * N / 4 + i;
      to[at / 2 * 8 + 2 * (lane & 3) + at % 2] = sum[i] * factor;
    }
  }
};

template <class Config>
struct HeadSums {
  RowSums<Config::kQueryColumns / 8> dq;
  RowSums<Config::kColumns / 8> dk, dv;

  // Adds the warps' sums in order, at the beginning of shared memory, which nobody uses any more.
  __device__ __forceinline__ void leave(const AttentionParams& p, const AttentionBackwardParams& g, int head,
                                        float v_factor, unsigned char* memory) const {
    auto& shared = *reinterpret_cast<float(*)[3][Config::kWarps][Config::kWidth]>(memory);
    const int warp = threadIdx.x / 32;
    __syncthreads();
    dq.put(shared[0][warp % Config::kRowWarps] + warp / Config::kRowWarps * Config::kQueryColumns, p.scale);
    dk.put(shared[1][warp % Config::kKeyWarps] + warp / Config::kKeyWarps * Config::kColumns, p.scale);
    dv.put(shared[2][warp % Config::kKeyWarps] + warp / Config::kKeyWarps * Config::kColumns, v_factor);
    __syncthreads();
    const int which = threadIdx.x / Config::kWidth, column = threadIdx.x % Config::kWidth;
    if (which >= 3 || column >= p.width) return;
    float sum = 0;
    for (int i = 0; i < (which == 0 ? Config::kRowWarps : Config::kKeyWarps); ++i) sum += shared[which][i][column];
    // [B, 3, H, D]
    g.sums[((head / p.heads * 3ll + which) * p.heads + head % p.heads) * p.width + column] = sum;
  }
};

}  // namespace attend::cuda
