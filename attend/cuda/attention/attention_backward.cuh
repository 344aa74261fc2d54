// The pieces of the attention backward kernel that work on one thread's fragments of a tile of transposed scores:
// rows are keys, columns queries.
#pragma once

#include "attend/cuda/attention/attention_mask.cuh"
#include "attend/cuda/warp_products.cuh"

namespace attend::cuda {

// Transposed scores to weights; 0 outside the mask.  s [16 keys, queries]; lse, per query, in shared memory
template <int N>
__device__ __forceinline__ void weigh(float (&s)[N][4], float factor, const float* lse) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const float2 shift = *reinterpret_cast<const float2*>(lse + 8 * j + 2 * (threadIdx.x & 3));
    s[j][0] = exp2_fast(fmaf(s[j][0], factor, -shift.x));
    s[j][1] = exp2_fast(fmaf(s[j][1], factor, -shift.y));
    s[j][2] = exp2_fast(fmaf(s[j][2], factor, -shift.x));
    s[j][3] = exp2_fast(fmaf(s[j][3], factor, -shift.y));
  }
}

template <int N>
__device__ __forceinline__ void mask_weights(float (&s)[N][4], int query, const int (&starts)[2]) {
  const int first = query + 2 * (threadIdx.x & 3);
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      if (first + 8 * j + (e & 1) < starts[e >> 1]) s[j][e] = 0;
}

// The queries that see a thread's two rows of keys under a window: [start, stop) and [0, seeing).
struct WindowKeys {
  int start[2], stop[2], seeing[2];

  __device__ __forceinline__ WindowKeys(const Window& window, int key)
      : start{window.start(key), window.start(key + 8)},
        stop{window.stop(key), window.stop(key + 8)},
        seeing{window.seeing_key(key), window.seeing_key(key + 8)} {}
};

template <int N>
__device__ __forceinline__ void mask_weights(float (&s)[N][4], int query, const WindowKeys& keys) {
  const int first = query + 2 * (threadIdx.x & 3);
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int t = first + 8 * j + (e & 1), r = e >> 1;
      if ((t < keys.start[r] || t >= keys.stop[r]) && t >= keys.seeing[r]) s[j][e] = 0;
    }
}

// The queries that a thread's two rows of keys are hidden from, and how far any of its warp's are: few keys are hidden
// from anyone.
struct HiddenRows {
  int starts[2] = {0, 0}, last = 0;

  __device__ __forceinline__ void look(const HiddenKeys& hidden, int key) {
    if (!hidden.any()) return;
    starts[0] = hidden.at(key), starts[1] = hidden.at(key + 8);
    last = __reduce_max_sync(0xffffffffu, max(starts[0], starts[1]));
  }
  template <int N>
  __device__ __forceinline__ void hide(float (&s)[N][4], int query) const {
    if (query < last) mask_weights(s, query, starts);
  }
};

template <int N>
__device__ __forceinline__ void bias_transposed(float (&s)[N][4], float factor, const BiasReader& bias, int query,
                                                int key, const AttentionSpan& span) {
  const int first = query + 2 * (threadIdx.x & 3);
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int t = first + 8 * j + (e & 1), at = key + 8 * (e >> 1);
      s[j][e] *= factor;
      if (bias.data && t < span.queries && at < span.visible) s[j][e] += kLog2E * bias.at(t, at);
    }
}

// Weights as an operand, without those that dropout takes: keep as WeightDropout::keeps_columns() gives it.
template <int N>
__device__ __forceinline__ void to_operand_dropped(const float (&s)[N][4], std::uint32_t keep,
                                                   std::uint32_t (&a)[N / 2][4]) {
  float dropped[N][4];
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) dropped[j][e] = keep >> (4 * j + e) & 1 ? s[j][e] : 0.0f;
  to_operand(dropped, a);
}

template <int N>
__device__ __forceinline__ void drop_gradients(float (&dp)[N][4], std::uint32_t keep, float scale) {
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) dp[j][e] = keep >> (4 * j + e) & 1 ? dp[j][e] * scale : 0.0f;
}

// ds = p ∘ (dp - delta), into dp.
template <int N>
__device__ __forceinline__ void score_gradients(const float (&s)[N][4], float (&dp)[N][4], const float* delta) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const float2 d = *reinterpret_cast<const float2*>(delta + 8 * j + 2 * (threadIdx.x & 3));
    dp[j][0] = s[j][0] * (dp[j][0] - d.x);
    dp[j][1] = s[j][1] * (dp[j][1] - d.y);
    dp[j][2] = s[j][2] * (dp[j][2] - d.x);
    dp[j][3] = s[j][3] * (dp[j][3] - d.y);
  }
}

// A left operand's registers to 16 rows of a tile.
template <class Tile, int K>
__device__ __forceinline__ void store_operand(const std::uint32_t (&a)[K][4], unsigned char* tile, int row) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int k = 0; k < K; ++k) {
#if __CUDA_ARCH__ >= 900
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     shared_address(tile) + Tile::offset(row + (lane & 15), 2 * k + (lane >> 4))),
                 "r"(a[k][0]), "r"(a[k][1]), "r"(a[k][2]), "r"(a[k][3])
                 : "memory");
#else
#pragma unroll
    for (int e = 0; e < 4; ++e)
      *reinterpret_cast<std::uint32_t*>(tile + Tile::offset(row + lane / 4 + 8 * (e & 1), 2 * k + (e >> 1)) +
                                        4 * (lane & 3)) = a[k][e];
#endif
  }
}

// Accumulators in memory in the order of the registers, 16 bytes per lane for each 8 columns: private to the thread, so
// the order does not matter to anyone else, and a warp reads whole lines.
inline constexpr int kFragmentStride = 128;  // floats from 8 columns to the next

template <int N>
__device__ __forceinline__ void load_sums(float (&c)[N][4], const float* from) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const float4 x = __ldcg(reinterpret_cast<const float4*>(from + j * kFragmentStride));
    c[j][0] = x.x, c[j][1] = x.y, c[j][2] = x.z, c[j][3] = x.w;
  }
}
template <int N>
__device__ __forceinline__ void store_sums(const float (&c)[N][4], float* to) {
#pragma unroll
  for (int j = 0; j < N; ++j)
    __stcg(reinterpret_cast<float4*>(to + j * kFragmentStride), make_float4(c[j][0], c[j][1], c[j][2], c[j][3]));
}

// The same in shared memory.
template <int N>
__device__ __forceinline__ void load_shared(float (&c)[N][4], const float* from) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const float4 x = *reinterpret_cast<const float4*>(from + j * kFragmentStride);
    c[j][0] = x.x, c[j][1] = x.y, c[j][2] = x.z, c[j][3] = x.w;
  }
}
template <int N>
__device__ __forceinline__ void store_shared(const float (&c)[N][4], float* to) {
#pragma unroll
  for (int j = 0; j < N; ++j)
    *reinterpret_cast<float4*>(to + j * kFragmentStride) = make_float4(c[j][0], c[j][1], c[j][2], c[j][3]);
}

// Four words of each of four neighbouring lanes, transposed: lane i gets word i of all.
__device__ __forceinline__ void transpose_lanes(std::uint32_t (&w)[4]) {
  const bool one = threadIdx.x & 1, two = threadIdx.x & 2;
  const auto swap = [](std::uint32_t& low, std::uint32_t& high, bool upper, int distance) {
    const std::uint32_t got = __shfl_xor_sync(0xffffffffu, upper ? low : high, distance);
    (upper ? low : high) = got;
  };
  swap(w[0], w[1], one, 1);
  swap(w[2], w[3], one, 1);
  swap(w[0], w[2], two, 2);
  swap(w[1], w[3], two, 2);
}

// 16 rows and 8·N columns of accumulators times factor, straight to rows row.. and columns column.. of the window.
// Lanes of a row swap, so that each stores 16 bytes, where there are 32 columns.
template <int N>
__device__ __forceinline__ void store_direct(const float (&c)[N][4], float factor, int row, int column,
                                             const RowWindow& window) {
  const int lane = threadIdx.x & 31;
  constexpr int kAtOnce = N % 4 == 0 ? 4 : 1;
#pragma unroll
  for (int j = 0; j < N; j += kAtOnce)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      std::uint32_t words[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) words[i] = pack_bf16(c[j + i][2 * r] * factor, c[j + i][2 * r + 1] * factor);
      if constexpr (kAtOnce == 4) transpose_lanes(words);
      const int at = row + lane / 4 + 8 * r, first = column + 8 * j + (lane & 3) * 2 * kAtOnce;
      if (at >= window.rows || first >= window.width) continue;
      auto* to = reinterpret_cast<__nv_bfloat162*>(window.data + at * window.stride + first);
      if (window.accumulate) {
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          const float2 u = __bfloat1622float2(to[i]),
                       x = __bfloat1622float2(*reinterpret_cast<__nv_bfloat162*>(&words[i]));
          words[i] = pack_bf16(u.x + x.x, u.y + x.y);
        }
      }
      if constexpr (kAtOnce == 4)
        *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
      else
        *reinterpret_cast<std::uint32_t*>(to) = words[0];
    }
}

}  // namespace attend::cuda
