// One token step of a decoder in one kernel: all layers, no launches in between.
//
// A cluster of eight blocks computes a head of attention and its share of the feed-forward network; block `rank` of
// every cluster owns the columns [rank · S, (rank + 1) · S) of the stream, S = C / 8. So a layer needs two kinds of
// messages only:
//   - inside a cluster, through shared memory: partial projections (each block multiplies its S columns of the stream
//   by
//     all columns of q, k, v or of the hidden units), and partial softmaxes (each block reads an eighth of the keys);
//   - between blocks of the same rank, through memory: what each cluster adds to the columns of that rank.
// Messages between clusters carry their own flag, {value, flag, value, flag}: whoever needs one polls it, and there is
// no barrier. Each message is read before its memory is written again because every later message depends on it.
//
// Weights are packed in the order in which blocks read them (decoder_step.cu), and the copy engine fetches those of the
// next layer as soon as those of this one are used. The norm is applied after the projection:
//   norm(x) W + b = rstd · ((x · g) W - mean · G) + B,   G = Σ g W,   B = Σ b W + b   over the input columns
#pragma once

#include <cstdint>

#include "attend/cuda/bulk_copy.cuh"
#include "attend/cuda/early_launch.cuh"
#include "attend/cuda/element.cuh"
#include "attend/cuda/rows/activation.cuh"
#include "attend/cuda/rows/block.cuh"

namespace attend::cuda {

inline constexpr int kStepRanks = 8, kStepThreads = 384, kStepWarps = kStepThreads / kWarp, kStepHead = 64;
inline constexpr int kMaxStepLayers = 48;

struct DecoderStepParams {
  const std::uint8_t* packed = nullptr;  // [layer][attention in, attention out, expand, contract of all blocks]
  bf16* caches[kMaxStepLayers] = {};     // [rows, capacity, 2C] each
  int capacity = 0, layers = 0;
  const std::int32_t *lengths = nullptr, *slots = nullptr;  // [rows]; lengths include the newest position
  const bf16* x = nullptr;                                  // [rows, C]
  bf16* states = nullptr;                                   // [rows, C]
  const float *norm_weight = nullptr, *norm_bias = nullptr, *last_bias = nullptr;  // [C]
  uint4 *from_attention = nullptr, *from_hidden = nullptr;  // [heads, rows, C / 2]: value, flag, value, flag
  std::uint32_t* launches = nullptr;                        // per rank, 128 bytes apart
  float eps = 0;
  Activation activation = Activation::none;
};

// The shape of a model, and what a block keeps in shared memory.
template <int C, int H, int F, int R>
struct DecoderStepShape {
  static constexpr int kWidth = C, kHeads = H, kRows = R, kSlice = C / kStepRanks;
  static constexpr int kProjected = 3 * kStepHead, kHidden = F / H;  // columns of q, k, v; hidden units of a cluster
  static constexpr int kMost = kProjected > kHidden ? kProjected : kHidden;
  // Bytes of a block's weights: g, G, B and the bias that the stream still lacks, f32, then the matrix.
  static constexpr int in_bytes(int columns) { return (2 * kSlice + 2 * columns) * 4 + kSlice * columns * 2; }
  static constexpr int kInput = in_bytes(kProjected), kOutput = kStepHead * kSlice * 2, kExpand = in_bytes(kHidden),
                       kContract = kHidden * kSlice * 2;
  static constexpr std::int64_t kBlocks = H * kStepRanks, kLayer = kBlocks * (kInput + kOutput + kExpand + kContract);
  static_assert(C == H * kStepHead && kSlice % 32 == 0 && kSlice <= kStepThreads / 4 && F % (H * 8) == 0);

  // A message between the blocks of a cluster: partial sums of each row's columns, and two sums that go with them.
  template <int Columns>
  struct Message {
    float of[R][Columns + 4];
    __device__ float* extra(int row) { return &of[row][Columns]; }
  };
  struct Shared {
    alignas(128) std::uint8_t input[kInput];
    alignas(128) std::uint8_t output[kOutput];
    alignas(128) std::uint8_t expand[kExpand];
    alignas(128) std::uint8_t contract[kContract];
    // From each rank; a block writes its own in its place, and sends it to the others.
    alignas(16) Message<kProjected> projected[kStepRanks];
    alignas(16) Message<kHidden> hidden[kStepRanks];
    alignas(16) Message<kStepHead> mixed[kStepRanks];
    alignas(16) float sums[R * 3456];            // of a product, before they are added up
    float stream[R][kSlice], scaled[R][kSlice];  // this rank's columns, and times the norm's weight
    float full[R][kMost], out[R][kStepHead];     // q, k, v or hidden units; what the head attended to
    float moments[R][2][kStepWarps], softmaxes[R][kStepWarps][2];
    std::int32_t lengths[R], slots[R];
    std::uint64_t barriers[8];
  };
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
__device__ __forceinline__ void copy_bytes(std::uint32_t to, const void* from, std::uint32_t bytes,
                                           std::uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
// The same place in the shared memory of a block of the cluster; its barrier counts the bytes.
__device__ __forceinline__ void send_bytes(const void* to, const void* from, std::uint32_t bytes, std::uint32_t barrier,
                                           int rank) {
  asm volatile(
      "{\n.reg .b32 there, gate;\nmapa.shared::cluster.u32 there, %0, %4;\nmapa.shared::cluster.u32 gate, %3, %4;\n"
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [there], [%1], %2, [gate];\n}\n" ::"r"(
          shared_address(to)),
      "r"(shared_address(from)), "r"(bytes), "r"(barrier), "r"(rank)
      : "memory");
}
// What this thread wrote to shared memory can be read by the copy engine.
__device__ __forceinline__ void shared_for_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ uint4 load_message(const uint4* from) {
  uint4 x;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "l"(from)
               : "memory");
  return x;
}
__device__ __forceinline__ void store_message(uint4* to, std::uint32_t flag, float a, float b) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %2};" ::"l"(to), "r"(__float_as_uint(a)), "r"(flag),
               "r"(__float_as_uint(b))
               : "memory");
}

// x [R][K] times w [K][J] by all threads: put(row, column, sum, sum of the next column) once for each column. Begins
// with the inputs in place and ends without a barrier.
template <int R, int K, int J, class Put>
__device__ __forceinline__ void step_product(const bf16* w, const float* x, int row, float* sums, Put&& put) {
  constexpr int kGroups = J / 8, kAcross = kStepThreads / kGroups, kStride = J + 4;
  const int group = static_cast<int>(threadIdx.x) % kGroups, first = static_cast<int>(threadIdx.x) / kGroups;
  if (kGroups * kAcross == kStepThreads || first < kAcross) {
    float sum[R][8] = {};
#pragma unroll
    for (int i = 0; i < (K + kAcross - 1) / kAcross; ++i) {
      const int k = first + i * kAcross;
      if (K % kAcross != 0 && k >= K) break;
      float v[8];
      load<8>(w + k * J + group * 8, v);
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const float a = x[r * row + k];
#pragma unroll
        for (int e = 0; e < 8; ++e) sum[r][e] += a * v[e];
      }
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
      float4* to = reinterpret_cast<float4*>(sums + (first * R + r) * kStride + group * 8);
      to[0] = make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
      to[1] = make_float4(sum[r][4], sum[r][5], sum[r][6], sum[r][7]);
    }
  }
  __syncthreads();
  constexpr int kParts = kStepThreads / J >= 4 ? 4 : kStepThreads / J >= 2 ? 2 : 1;
  const int column = static_cast<int>(threadIdx.x) / kParts, part = static_cast<int>(threadIdx.x) % kParts;
  if (J * kParts == kStepThreads || column < J) {  // whole warps
#pragma unroll
    for (int r = 0; r < R; ++r) {
      float total = 0;
#pragma unroll
      for (int i = part; i < kAcross; i += kParts) total += sums[(i * R + r) * kStride + column];
#pragma unroll
      for (int step = 1; step < kParts; step <<= 1) total += __shfl_xor_sync(0xffffffffu, total, step);
      const float next = __shfl_down_sync(0xffffffffu, total, kParts);
      if (part == 0) put(r, column, total, next);
    }
  }
}

#endif

}  // namespace attend::cuda
