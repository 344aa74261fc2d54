// Flash attention on CUDA (Dao et al. 2022; Dao 2023): what the launchers take, on raw pointers, so that the kernels
// can be checked and timed without the rest of the library (bench/cuda_attention.cu).
//
// bf16 goes to the tensor cores: wgmma on sm_90a for head widths 40 to 128 (forward without bias and dropout), mma.sync
// elsewhere. There, from 2,048 queries on, with a window, and with heads wider than 64 ("stream", "keys"), a warpgroup
// of its own copies. Many short sequences under one bias share blocks ("windows"). f32, and bf16 whose rows do not
// start on 16 bytes, go to plain f32 arithmetic ("exact"). A few queries over many keys ("decode") and the backward
// pass of short sequences
// ("short": up to 64 queries and keys, width 64) have kernels of their own. The T x S matrix never reaches memory, and
// the order of every sum depends on the sizes alone: where blocks add to the same place, each waits for its turn.
//
// One H200, causal, forward and backward: B 64, H 12, T 1024, D 64 1.26 ms, 0.91 of the time of torch 2.11's best,
// cuDNN, in the same run; T 16,384 (B 4, H 16) 17.1 ms, 0.94; D 128 (B 32, H 8, T 1024) 0.71 ms, 0.85.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "attend/tensor/attention_window.h"

namespace attend::cuda {

// See Attention and AttentionMask in attend/tensor/backend.h for the meaning of each.
struct AttentionParams {
  bool bf16 = true;  // else f32
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  std::int64_t q_stride = 0, k_stride = 0, v_stride = 0;  // elements from row to row
  void* y = nullptr;                                      // [query_rows, H·D]
  float* lse = nullptr;                                   // [query_rows, H]
  int batch = 0, heads = 0, width = 0;                    // B, H, D
  int queries = 0, keys = 0;                              // T and S, the maxima when packed
  std::int64_t query_rows = 0, key_rows = 0;              // rows of q and of k
  float scale = 1;
  bool causal = false;
  bool windowed = false;  // then the window says what a query sees, and tiles that it bars are skipped
  const std::int32_t* seen_from =
      nullptr;  // [key_rows]; what has it is windowed, if only by a window that bars nothing
  AttentionWindow window = {};
  const std::int32_t *key_lengths = nullptr, *query_offsets = nullptr, *key_offsets = nullptr;
  const std::int32_t* rows_of_keys = nullptr;  // [B, S]: the sequence that holds each key; "decode" alone knows it
  const void* bias = nullptr;                  // [G, H, T, S]
  bool bias_bf16 = false;
  int groups = 1;
  float dropout_rate = 0;
  const std::uint32_t* seed = nullptr;
  std::uint32_t stream = 0;
};

struct AttentionGradient {
  void* data = nullptr;  // nobody wants it when null
  std::int64_t stride = 0;
  bool accumulate = false;
};

struct AttentionBackwardParams {
  const void* dy = nullptr;  // [query_rows, H·D]
  AttentionGradient dq, dk, dv, dbias;
  bool dbias_bf16 = false;
  int bias_chunks = 1;      // more: dbias is f32 [chunks, G, H, T, S], each a sum over part of those that share a bias
  float* sums = nullptr;    // [B, 3, H·D]: dq, dk and dv summed over each sequence; attention_backward_leaves_sums()
  void* scratch = nullptr;  // attention_backward_scratch() bytes, 16-byte aligned
};

void launch_attention_forward(const AttentionParams& p, cudaStream_t stream);
bool attention_decodes(const AttentionParams& p);  // whether that goes to "decode"
std::size_t attention_backward_scratch(const AttentionParams& p);
// Whether the backward pass can leave sums; then it does, where they are not null.
bool attention_backward_leaves_sums(const AttentionParams& p, const AttentionBackwardParams& g);
void launch_attention_backward(const AttentionParams& p, const AttentionBackwardParams& g, cudaStream_t stream);
void launch_attention_weights(const AttentionParams& p, float* weights, cudaStream_t stream);

// The parts those choose from, each in a file of its own. They launch and return; launch errors stay in
// cudaGetLastError().
bool attention_rows_aligned(const AttentionParams& p);  // 16-byte loads are possible
void launch_attention_forward_tiled(const AttentionParams& p, cudaStream_t stream);
// 32 < width <= 128: up to 64 queries, or more of heads of 64; and more than 64 queries.
void launch_attention_forward_groups(const AttentionParams& p, cudaStream_t stream);
void launch_attention_forward_stream(const AttentionParams& p, cudaStream_t stream);
// Sequences of 33 to 64 keys that share a bias in bf16, and see all keys.
bool attention_is_windows(const AttentionParams& p);
void launch_attention_forward_windows(const AttentionParams& p, cudaStream_t stream);
void launch_attention_forward_decode(const AttentionParams& p, cudaStream_t stream);
void launch_attention_forward_exact(const AttentionParams& p, cudaStream_t stream);
std::size_t attention_backward_tiled_scratch(const AttentionParams& p);
bool attention_backward_tiled_leaves_sums(const AttentionParams& p);
void launch_attention_backward_tiled(const AttentionParams& p, const AttentionBackwardParams& g, cudaStream_t stream);
std::size_t attention_backward_keys_scratch(const AttentionParams& p);
void launch_attention_backward_keys(const AttentionParams& p, const AttentionBackwardParams& g, cudaStream_t stream);
void launch_attention_backward_short(const AttentionParams& p, const AttentionBackwardParams& g, cudaStream_t stream);
void launch_attention_backward_exact(const AttentionParams& p, const AttentionBackwardParams& g, cudaStream_t stream);
// stats [2, H, query_rows]: lse · log2 e (+inf where no key was seen), and the row sums of dy ∘ y.
void launch_attention_statistics(const AttentionParams& p, const void* dy, float* stats, cudaStream_t stream);
void launch_attention_bias_gradient(const AttentionParams& p, const AttentionBackwardParams& g, const float* stats,
                                    cudaStream_t stream);

}  // namespace attend::cuda
