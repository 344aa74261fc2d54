// Several sequences of ids in one tensor: padded, [B, T], or packed one after another without padding, [rows].
#pragma once

#include <cstdint>
#include <span>

#include "attend/tensor/attention_mask.h"
#include "attend/tensor/pass.h"
#include "attend/tensor/tensor.h"

namespace attend::nn {

struct Sequences {
  Tensor ids;                // i32 [B, T], or packed: [rows]
  Tensor lengths = {};       // padded: i32 [B]; undefined if no row has padding
  Tensor offsets = {};       // packed: i32 [B + 1]; sequence b is rows [offsets[b], offsets[b + 1])
  Tensor positions = {};     // packed: i32 [rows], the position of each row in its sequence
  std::int64_t longest = 0;  // packed: length of the longest sequence

  bool packed() const { return offsets.defined(); }
  // The same tensors as inputs of a pass, without a copy.
  Sequences in(Pass& pass) const {
    const auto under = [&](const Tensor& x) { return x.defined() ? pass.input(x) : x; };
    return {under(ids), under(lengths), under(offsets), under(positions), longest};
  }
};

// Uploads ids as one sequence, i32 [1, T].
inline Tensor row_of(Backend& backend, std::span<const std::int32_t> ids) {
  Tensor tensor = make_tensor(backend, {1, static_cast<std::int64_t>(ids.size())}, DType::i32);
  upload(tensor, ids);
  return tensor;
}

// Every query attends to the keys of its own sequence, but not to padding.
inline AttentionMask mask_between(const Sequences& queries, const Sequences& keys) {
  if (!keys.packed()) return {.key_lengths = keys.lengths};
  return {.query_offsets = queries.offsets,
          .key_offsets = keys.offsets,
          .max_queries = queries.longest,
          .max_keys = keys.longest};
}

// The same, but a query attends only to itself and to keys before it.
inline AttentionMask causal_mask(const Sequences& sequences) {
  AttentionMask mask = sequences.packed() ? mask_between(sequences, sequences) : AttentionMask{};
  mask.causal = true;
  return mask;
}

}  // namespace attend::nn
