// Rows of a table by id: token embeddings, with the paper's scale and positions added on the way; gather in general.
#pragma once

#include <cstdint>

#include "attend/tensor/tensor.h"

namespace attend::ops {

struct EmbeddingOptions {
  float scale = 1;           // sqrt(C) in Vaswani et al. 2017, section 3.4
  Tensor positions = {};     // [P, C]: added row by row
  Tensor position_ids = {};  // like ids; without it the position is the place in the last axis of ids
  // Rows of the table and of the positions that gather no gradient: those of padding, in BERT's descendants. -1: none.
  std::int64_t padding = -1, position_padding = -1;
};

//   ids i32 [..]   table [V, C]   ->   [.., C]
Tensor embedding(const Tensor& ids, const Tensor& table, const EmbeddingOptions& options = {});

// Rows of x [N, ..] by number: ids i32 [M] -> [M, ..].
Tensor gather(const Tensor& x, const Tensor& ids);

}  // namespace attend::ops
