// What the backward pass needs of each query first: the log-sum-exp in base 2, and the row sum of dy ∘ y, which is
// Σ P ∘ dP (Dao et al. 2022, appendix B.4). Written head by head, so that a tile of queries reads it in one line.
#include "attend/cuda/attention/attention_mask.cuh"
#include "attend/cuda/element.cuh"

namespace attend::cuda {
namespace {

constexpr int kThreads = 256;

// kLanes lanes per row, kWide elements each at a time, kRows rows at once to have enough loads under way.
constexpr int kLanes = 8, kRows = 4;

template <class T, int kWide>
__global__ void __launch_bounds__(kThreads)
    attention_statistics(const AttentionParams p, const T* __restrict__ dy, float* __restrict__ stats) {
  const int h = blockIdx.y, lane = threadIdx.x % kLanes;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (kThreads / kLanes * kRows) + threadIdx.x / kLanes;
  float sums[kRows] = {};
  for (int i = lane * kWide; i < p.width; i += kLanes * kWide) {
    float x[kRows][kWide], y[kRows][kWide];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const std::int64_t row = min(first + r * (kThreads / kLanes), p.query_rows - 1);
      const std::int64_t at = (row * p.heads + h) * p.width + i;
      load_once<kWide>(dy + at, x[r]);
      load_once<kWide>(static_cast<const T*>(p.y) + at, y[r]);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int e = 0; e < kWide; ++e) sums[r] = fmaf(x[r][e], y[r][e], sums[r]);
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t row = first + r * (kThreads / kLanes);
#pragma unroll
    for (int step = kLanes / 2; step > 0; step /= 2) sums[r] += __shfl_xor_sync(0xffffffffu, sums[r], step);
    if (lane != 0 || row >= p.query_rows) continue;
    const float lse = p.lse[row * p.heads + h];
    stats[h * p.query_rows + row] = lse == -INFINITY ? INFINITY : lse * kLog2E;
    stats[(p.heads + h) * p.query_rows + row] = sums[r];
  }
}

template <class T, int kWide>
void launch(const AttentionParams& p, const void* dy, float* stats, cudaStream_t stream) {
  constexpr int kBlockRows = kThreads / kLanes * kRows;
  const auto blocks = static_cast<unsigned>((p.query_rows + kBlockRows - 1) / kBlockRows);
  attention_statistics<T, kWide><<<dim3(blocks, p.heads), kThreads, 0, stream>>>(p, static_cast<const T*>(dy), stats);
}

}  // namespace

void launch_attention_statistics(const AttentionParams& p, const void* dy, float* stats, cudaStream_t stream) {
  const bool aligned = (reinterpret_cast<std::uintptr_t>(p.y) | reinterpret_cast<std::uintptr_t>(dy)) % 16 == 0;
  if (p.bf16)
    aligned ? launch<bf16, 8>(p, dy, stats, stream) : launch<bf16, 1>(p, dy, stats, stream);
  else
    aligned ? launch<float, 4>(p, dy, stats, stream) : launch<float, 1>(p, dy, stats, stream);
}

}  // namespace attend::cuda
