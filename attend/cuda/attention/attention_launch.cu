// Which attention kernels a call goes to, and the rows that belong to no sequence.
#include "attend/cuda/attention/attention.cuh"
#include "attend/cuda/capability.h"

namespace attend::cuda {
namespace {

bool aligned(const void* data, std::int64_t stride) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && stride % 8 == 0;
}

bool empty(const AttentionParams& p) { return p.batch == 0 || p.heads == 0 || p.width == 0; }

// Up to this many queries per head, keys are read once by whole blocks instead of multiplied by tiles.
constexpr int kDecodeQueries = 4;

// The backward pass goes to the tensor cores.
bool has_tiles(const AttentionParams& p, const AttentionBackwardParams& g) {
  return p.bf16 && attention_rows_aligned(p) && aligned(g.dy, 8) && aligned(g.dq.data, g.dq.stride) &&
         aligned(g.dk.data, g.dk.stride) && aligned(g.dv.data, g.dv.stride);
}

// T and S up to 64, D up to 64.
bool is_short(const AttentionParams& p) {
  return p.bf16 && p.queries <= 64 && p.keys <= 64 && p.width <= 64 && !p.windowed;
}

// Long texts, wide heads and windows: blocks own keys, not heads. Shorter texts of narrow heads are faster the other
// way, where dq stays in shared memory and no block waits for another.
bool by_keys(const AttentionParams& p) {
  const bool worth_it = p.width > 64 || p.queries >= 2048 || p.windowed;
  return p.bf16 && !p.bias && p.dropout_rate <= 0 && p.width > 32 && p.width <= 128 && p.width % 8 == 0 &&
         p.queries > 64 && p.key_rows > 0 && worth_it && has_wgmma();
}

std::size_t element_bytes(const AttentionParams& p) { return p.bf16 ? 2 : 4; }

// Rows from *begin on become zero. Blocks take rows in turn.
template <class T>
__global__ void clear_rows(T* data, std::int64_t stride, int width, std::int64_t rows, const std::int32_t* begin) {
  for (std::int64_t row = *begin + blockIdx.x; row < rows; row += gridDim.x)
    for (int i = threadIdx.x; i < width; i += blockDim.x) data[row * stride + i] = 0;
}

// A packed batch may lie in a larger buffer: what is behind its last sequence is defined too.
void clear_behind(const AttentionParams& p, void* data, std::int64_t stride, std::int64_t rows,
                  const std::int32_t* offsets, cudaStream_t stream) {
  const int width = p.heads * p.width;
  if (p.bf16)
    clear_rows<<<64, 128, 0, stream>>>(static_cast<std::uint16_t*>(data), stride, width, rows, offsets + p.batch);
  else
    clear_rows<<<64, 128, 0, stream>>>(static_cast<std::uint32_t*>(data), stride, width, rows, offsets + p.batch);
}

void clear_all(const AttentionParams& p, const AttentionGradient& to, std::int64_t rows, cudaStream_t stream) {
  if (!to.data || to.accumulate || rows == 0) return;
  cudaMemset2DAsync(to.data, to.stride * element_bytes(p), 0, p.heads * p.width * element_bytes(p), rows, stream);
}

}  // namespace

bool attention_rows_aligned(const AttentionParams& p) {
  return aligned(p.q, p.q_stride) && aligned(p.k, p.k_stride) && aligned(p.v, p.v_stride) && aligned(p.y, 8);
}

bool attention_decodes(const AttentionParams& p) {
  return attention_rows_aligned(p) && p.queries <= kDecodeQueries && p.dropout_rate <= 0 && !p.seen_from;
}

void launch_attention_forward(const AttentionParams& p, cudaStream_t stream) {
  if (empty(p) || p.query_rows == 0) return;
  if (p.query_offsets)
    clear_behind(p, p.y, static_cast<std::int64_t>(p.heads) * p.width, p.query_rows, p.query_offsets, stream);
  if (p.queries == 0) return;
  if (attention_decodes(p))
    launch_attention_forward_decode(p, stream);
  else if (p.bf16 && attention_rows_aligned(p))
    launch_attention_forward_tiled(p, stream);
  else
    launch_attention_forward_exact(p, stream);
}

std::size_t attention_backward_scratch(const AttentionParams& p) {
  if (empty(p)) return 0;
  const std::size_t stats = 2 * sizeof(float) * p.heads * static_cast<std::size_t>(p.query_rows);
  const std::size_t tiled = by_keys(p) ? attention_backward_keys_scratch(p) : attention_backward_tiled_scratch(p);
  return p.bf16 && tiled > stats ? tiled : stats;
}

bool attention_backward_leaves_sums(const AttentionParams& p, const AttentionBackwardParams& g) {
  return !empty(p) && p.queries > 0 && p.query_rows > 0 && has_tiles(p, g) && !is_short(p) && !by_keys(p) &&
         attention_backward_tiled_leaves_sums(p);
}

void launch_attention_backward(const AttentionParams& p, const AttentionBackwardParams& g, cudaStream_t stream) {
  if (empty(p)) return;
  const bool hidden = p.query_offsets && p.key_lengths;  // rows between the sequences' keys
  if (p.queries == 0 || p.query_rows == 0 || hidden) {
    clear_all(p, g.dk, p.key_rows, stream);
    clear_all(p, g.dv, p.key_rows, stream);
  }
  if (p.queries == 0 || p.query_rows == 0) return;
  if (p.query_offsets) {
    const std::int32_t* key_offsets = p.key_offsets ? p.key_offsets : p.query_offsets;
    if (g.dq.data && !g.dq.accumulate) clear_behind(p, g.dq.data, g.dq.stride, p.query_rows, p.query_offsets, stream);
    for (const AttentionGradient* to : {&g.dk, &g.dv})
      if (to->data && !to->accumulate && !hidden)
        clear_behind(p, to->data, to->stride, p.key_rows, key_offsets, stream);
  }
  if (!has_tiles(p, g))
    launch_attention_backward_exact(p, g, stream);
  else if (is_short(p))
    launch_attention_backward_short(p, g, stream);
  else if (by_keys(p))
    launch_attention_backward_keys(p, g, stream);
  else
    launch_attention_backward_tiled(p, g, stream);
}

}  // namespace attend::cuda
