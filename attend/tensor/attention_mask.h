// Which keys a query sees: what models say, ops hand on and attention kernels heed.
#pragma once

#include <cstdint>

#include "attend/tensor/attention_window.h"
#include "attend/tensor/tensor.h"

namespace attend {

// Who may look at whom. Dense: q is [B, T, H·D] and k, v are [B, S, H·D]. Packed: q is [rows, H·D], k and v
// [rows', H·D], sequence b has query rows [query_offsets[b], query_offsets[b + 1]) and key rows from key_offsets[b];
// it has key_lengths[b] keys, or as many as the next offset allows. max_queries and max_keys bound the lengths.
// causal: query t sees key s when s <= t + (keys - queries) of its sequence: the last query sees the last key.
// In dense form the counts are T and S, and key_lengths [B] only hides the keys from there on.
// window: query t stands at key t + (keys - queries), also where attention is not causal. Kernels skip what it bars.
// seen_from i32, one for each row of k: queries of its sequence before that one do not see the key, whatever the rest
// says; kSeenByNone: none does. ops/global_attention.h is who needs it.
// key_rows i32 [B, S] (dense, on a GPU, up to four queries): key s of sequence b is that of sequence key_rows[b, s], so
// that the rows of a search read each other's caches.
// bias [G, H, T, S] (dense only) is added to the scores of sequence b from group b % G; f32 or as q.
inline constexpr std::int32_t kSeenByNone = 0x7fffffff;
struct AttentionMask {
  bool causal = false;
  Tensor key_lengths = {};
  Tensor query_offsets = {}, key_offsets = {};
  std::int64_t max_queries = 0, max_keys = 0;
  Tensor bias = {};
  AttentionWindow window = {};
  Tensor seen_from = {};
  Tensor key_rows = {};

  bool windowed() const { return window.bars(causal); }
};

}  // namespace attend
